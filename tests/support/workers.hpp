/// What the workers of a runtime do while they have nothing to do, by their own counters.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include <shunt/sched/detail/worker.hpp>

namespace shunt::testing {

/// Made by a fiber, of its runtime; used by any thread while that run lasts.
class idle_workers {
 public:
  /// How often these workers have fallen asleep so far.
  [[nodiscard]] std::uint64_t sleeps() const {
    std::uint64_t sum = 0;
    for (const auto& w : all_) sum += w->published.times_asleep();
    return sum;
  }
  [[nodiscard]] bool asleep(int worker) const {
    const auto& its = all_[static_cast<std::size_t>(worker)]->published;
    return its.times_asleep() > 0 && its.sleeps();
  }
  /// Lets the calling thread look until all these workers sleep at once. \return false: a minute has gone by, it hangs.
  [[nodiscard]] bool all_fall_asleep() const {
    return becomes_true([this] {
      for (std::size_t i = 0; i < all_.size(); ++i) {
        if (!asleep(static_cast<int>(i))) return false;
      }
      return true;
    });
  }
  /// The same, of one of them.
  [[nodiscard]] bool falls_asleep(int worker) const {
    return becomes_true([this, worker] { return asleep(worker); });
  }

 private:
  template <class Condition>
  static bool becomes_true(const Condition& holds) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    while (!holds()) {
      if (std::chrono::steady_clock::now() > end) return false;
      std::this_thread::yield();
    }
    return true;
  }

  const std::vector<std::unique_ptr<sched::detail::worker>>& all_ = sched::detail::worker::current()->all.workers;
};

}  // namespace shunt::testing
