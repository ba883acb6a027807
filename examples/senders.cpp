/// Senders and receivers over fibers: what follows a sender may wait as any fiber does, and a stop reaches the waits.
/// With stdexec on the include path this is a program for it; the tests compile it with their stand-in.
#include <cstdio>
#include <stdexcept>
#include <stop_token>

#include <shunt/sync.hpp>
#include <shunt/task.hpp>
#include <shunt/task/senders.hpp>

#if SHUNT_SENDERS

using shunt::task::as_sender;
using shunt::task::sync_wait;

namespace {

shunt::coroutine_task<int> twice(shunt::future<int> number) { co_return 2 * co_await number; }

}  // namespace

int main() {
  return shunt::launch([] {
    const shunt::task::fiber_scheduler pool;  // of the workers that run this fiber
    shunt::channel<int> numbers(1);

    // A function that waits for a channel; one that sends, on another fiber; a coroutine that awaits a future.
    auto received = as_sender(pool, [&] { return numbers.receive().value_or(0); });
    auto sent = stdexec::then(stdexec::schedule(pool), [&] { return numbers.send(40) ? 1 : 0; });
    auto doubled = as_sender(pool, twice(shunt::async_value([] { return 1; })));
    const auto [item, count, two] =
        *sync_wait(stdexec::when_all(std::move(received), std::move(sent), std::move(doubled)));
    std::printf("%d\n", item + two);  // 42

    // The failure of one asks the other to stop, and its wait ends.
    auto waits = as_sender(pool, [&](const std::stop_token& stop) { return numbers.receive(stop); });
    auto fails = as_sender(pool, []() -> int { throw std::runtime_error("enough"); });
    bool failed = false;
    try {
      static_cast<void>(sync_wait(stdexec::when_all(std::move(waits), std::move(fails))));
    } catch (const std::runtime_error& why) {
      std::printf("%s\n", why.what());
      failed = true;
    }
    return item + two == 42 && count == 1 && failed ? 0 : 1;
  });
}

#else

int main() {
  std::puts("no library of senders and receivers is here");
  return 1;
}

#endif
