/// What tests of fibers that migrate share.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <shunt/sched.hpp>
#include <support/expect.hpp>
#include <utility>

namespace shunt::testing {

inline const sched::spawn_options migrant{.worker = 0, .migrates = true};

inline void until(const std::function<bool()>& so) {
  while (!so()) sched::this_fiber::yield();
}

/// Says that something is over, also if an expectation was not met.
struct at_end {
  ~at_end() { over.store(true, std::memory_order_release); }  // edge: join() and others see what was done before
  std::atomic<bool>& over;
};

/// Runs `body` as the root of two workers, beside it one fiber that is always ready: so a
/// fiber that migrates is never the only one that worker 0 could run, and worker 1 is handed every one that may go.
inline void beside_a_busy_fiber(const std::function<void(sched::runtime&)>& body) {
  sched::options o;
  o.workers = 2;
  o.spin = std::chrono::nanoseconds::zero();  // a worker that sleeps is handed something
  sched::runtime rt(o);
  std::atomic<bool> over{false};
  rt.run([&] {
    rt.spawn([&over] { until([&] { return over.load(); }); }, {.worker = 0});
    const at_end says{over};
    body(rt);
  });
}

/// A fiber spawned as `how`, which has ended when join() returns.
class spawned {
 public:
  spawned(sched::runtime& rt, const sched::spawn_options& how, std::function<void()> body) {
    rt.spawn(
        [this, run = std::move(body)] {
          const at_end says{over_};
          run();
        },
        how);
  }
  void join() const {
    until([this] { return over_.load(std::memory_order_acquire); });
  }

 private:
  std::atomic<bool> over_{false};
};

}  // namespace shunt::testing
