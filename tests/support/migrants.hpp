/// What tests of fibers that migrate share.
#pragma once

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <functional>
#include <shunt/sched.hpp>
#include <utility>

namespace shunt::testing {

inline const sched::spawn_options migrant{.worker = 0, .migrates = true};

/// Catch counts what threads must not count together.
class verdicts {
 public:
  void must(bool so) noexcept {
    if (!so) wrong_.fetch_add(1, std::memory_order_relaxed);
  }
  ~verdicts() { CHECK(wrong_ == 0); }

 private:
  std::atomic<int> wrong_{0};
};

inline void until(const std::function<bool()>& so) {
  while (!so()) sched::this_fiber::yield();
}

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
    body(rt);
    over = true;
  });
}

/// A fiber spawned as `how`, which has ended when join() returns.
class spawned {
 public:
  spawned(sched::runtime& rt, const sched::spawn_options& how, std::function<void()> body) {
    rt.spawn(
        [this, run = std::move(body)] {
          run();
          over_.store(true, std::memory_order_release);  // pairs with join()
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
