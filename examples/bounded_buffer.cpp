// A bounded buffer, with timeouts: every wait for space or for an item may end because the time is over, or because the
// producers have closed it. The buffer itself knows of neither.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <exception>
#include <optional>
#include <shunt/stm.hpp>

using namespace std::chrono_literals;

namespace {

struct closable {
  shunt::tbqueue<int> items{8};
  shunt::tvar<bool> closed{false};

  /// An item; nothing: closed, and all items are gone. Waits.
  std::optional<int> take(shunt::tx& t) {
    return t.or_else([&] { return std::optional(items.pop(t)); },
                     [&] {
                       t.check(t.read(closed));
                       return std::optional<int>();
                     });
  }
};

}  // namespace

int main() try {
  constexpr int producers = 3, consumers = 2, each = 3000;
  closable buffer;
  bool right = true;

  // No item comes: waiting ends, and nothing has been done.
  right = right && !shunt::atomically_for(1ms, [&](shunt::tx& t) { return buffer.take(t); }).has_value();
  while (buffer.items.try_push(0)) continue;
  right = right && !shunt::atomically_for(1ms, [&](shunt::tx& t) { buffer.items.push(t, 1); });
  right = right && buffer.items.size() == buffer.items.capacity();

  std::atomic<long> sum{0}, taken{0}, too_late{0};
  std::atomic<int> producing{producers};
  shunt::sched::runtime workers({.workers = 2});
  workers.run([&] {
    for (int c = 0; c < consumers; ++c) {
      workers.spawn([&] {
        for (;;) {
          const auto got = shunt::atomically_for(1ms, [&](shunt::tx& t) { return buffer.take(t); });
          if (!got.has_value()) {
            ++too_late;  // the place for something else to do
          } else if (!got->has_value()) {
            return;
          } else {
            sum += **got;
            ++taken;
          }
        }
      });
    }
    for (int p = 0; p < producers; ++p) {
      workers.spawn([&] {
        for (int i = 1; i <= each; ++i) {
          while (!shunt::atomically_for(1ms, [&](shunt::tx& t) { buffer.items.push(t, i); })) ++too_late;
        }
        if (--producing == 0) buffer.closed.store(true);
      });
    }
  });
  std::fprintf(stderr, "%ld times the time was over\n", too_late.load());
  right = right && taken == producers * each + static_cast<long>(buffer.items.capacity());
  right = right && sum == long{producers} * each * (each + 1) / 2;
  std::puts(right ? "bounded_buffer: right" : "bounded_buffer: WRONG");
  return right ? 0 : 1;
} catch (const std::exception& bad) {
  std::fprintf(stderr, "%s\n", bad.what());
  return 1;
}
