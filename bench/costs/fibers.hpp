/// Costs of fibers, on one worker.
#pragma once

#include <shunt/sched.hpp>
#include <shunt/sched/observe/deadlock.hpp>
#include <shunt/sched/waits_forbidden.hpp>
#include <vector>

#include "cost.hpp"

namespace bench {

/// Fibers that yield in turn.
class yielding {
 public:
  yielding(long fibers, long yields, bool migrates) : fibers_(fibers), turns_(yields / fibers) {
    shunt::sched::runtime one({.workers = 1, .stack_bytes = std::size_t{64} << 10});
    one.run([&] {
      root_ = shunt::sched::this_fiber::self();
      for (long i = 0; i < fibers; ++i) one.spawn([this] { take_turns(); }, {.worker = 0, .migrates = migrates});
      while (started_ < fibers) shunt::sched::this_fiber::yield();
      begun_ = true;
      const double start = bench_processor_now();
      while (ended_ < fibers) shunt::sched::this_fiber::park();
      seconds_ = bench_processor_now() - start;
    });
    must_be("yields", done_, turns_ * fibers);
  }
  [[nodiscard]] cost found() const { return {seconds_, done_}; }

 private:
  void take_turns() {
    ++started_;
    while (!begun_) shunt::sched::this_fiber::yield();
    for (long i = 0; i < turns_; ++i) shunt::sched::this_fiber::yield();
    done_ += turns_;
    if (++ended_ == fibers_) root_.wake();
  }

  const long fibers_, turns_;
  shunt::sched::waker root_;
  long started_ = 0, ended_ = 0, done_ = 0;
  bool begun_ = false;
  double seconds_ = 0;
};
inline cost yield_2(long operations) { return yielding(2, operations, false).found(); }
inline cost yield_50000(long operations) { return yielding(50'000, operations, false).found(); }
inline cost yield_migrating(long operations) { return yielding(2, operations, true).found(); }

/// From the call to the end of a fiber that does nothing else but count.
inline cost spawn(long operations) {
  return on_one_worker([operations] {
    return processor_time(operations, [](long n) {
      long ended = 0;
      for (long made = 0; made < n;) {
        const long next = std::min(made + 100, n);
        for (; made < next; ++made) shunt::sched::this_worker::current().spawn([&ended] { ++ended; });
        while (ended < made) shunt::sched::this_fiber::yield();
      }
      return ended;
    });
  });
}

/// A call in a fiber that answers yes.
template <typename Ask>
cost answered(long operations, Ask&& ask) {
  return on_one_worker([&] {
    return processor_time(operations, [&](long n) {
      long yes = 0;
      for (long i = 0; i < n; ++i) {
        yes += ask() ? 1 : 0;
        use(yes);
      }
      return yes;
    });
  });
}
inline cost has_runnable(long operations) {
  return answered(operations, [] { return !shunt::sched::this_worker::has_runnable(); });
}
inline cost may_wait(long operations) {
  return answered(operations, [] { return shunt::sched::this_fiber::may_wait(); });
}
inline cost require_stack(long operations) {
  return answered(operations, [] {
    shunt::sched::this_fiber::require_stack();
    return true;
  });
}

/// A fiber is about to wait for the first of many, each of which waits for the next.
inline cost deadlock_a_fiber(long operations) {
  constexpr long length = 200;
  shunt::sched::runtime one({.workers = 1});
  cost found;
  one.run([&] {
    using namespace shunt::sched;
    std::vector<fiber_id> ids(length + 1);
    std::vector<waker> parked;
    bool over = false;
    for (std::size_t i = 0; i < length; ++i) {
      ids[i] = one.spawn([&, i] {
        const waits_for_end edge(ids[i + 1], "costs");
        parked.push_back(this_fiber::self());
        while (!over) this_fiber::park();
      });
    }
    while (parked.size() < length) this_fiber::yield();
    found = processor_time(operations, [&](long n) {
      long looks = 0;
      for (long i = 0; i < n; i += length, looks += length) const waits_for_end edge(ids[0], "costs");
      return std::min(looks, n);
    });
    over = true;
    for (const auto& one_of : parked) one_of.wake();
  });
  return found;
}

}  // namespace bench
