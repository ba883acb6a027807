/// A coroutine waits for all that a fiber waits for: a future, an actor's answer, a channel, a transaction. It holds a
/// fiber only while async_value() waits in its place.
#include <cstdio>

#include <shunt/actor.hpp>
#include <shunt/stm.hpp>
#include <shunt/sync.hpp>
#include <shunt/task.hpp>

namespace {

struct adder {
  int add(int a, int b) { return a + b; }
};

shunt::coroutine_task<int> collect(shunt::channel<int>& numbers, shunt::tvar<int>& level, shunt::ref<adder> sums) {
  const int received = co_await shunt::async_value([&] { return numbers.receive().value_or(0); });
  const int reached = co_await shunt::async_value([&] {
    return shunt::atomically([&](shunt::tx& t) {
      const int now = t.read(level);
      if (now == 0) t.retry();
      return now;
    });
  });
  co_return co_await sums.ask<&adder::add>(received, reached);
}

}  // namespace

int main() {
  return shunt::launch([] {
    shunt::manager actors(shunt::sched::this_worker::current());
    const auto sums = actors.spawn<adder>();
    shunt::channel<int> numbers(1);
    shunt::tvar<int> level(0);
    shunt::future<int> sum;
    shunt::finish([&] {
      sum = shunt::start(collect(numbers, level, sums));
      static_cast<void>(numbers.send(40));
      shunt::atomically([&](shunt::tx& t) { t.write(level, 2); });
    });
    std::printf("%d\n", sum.get());  // 42
    return sum.get() == 42 ? 0 : 1;
  });
}
