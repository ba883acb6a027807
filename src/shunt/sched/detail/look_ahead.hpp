/// Whether a yield prefetches the stack of a fiber some slots ahead: measured, and done while it pays.
///
/// Among many fibers the next fiber's stack is in no near cache, and neither is its page's translation. A prefetch a
/// dozen slots earlier hides most of both, and a yield takes half as long. If a fiber's loop lives in its registers
/// (context/switch.hpp), though, nothing needs the stack, and finding its page is most of what a yield costs. Which
/// case it is cannot be known beforehand. So the worker measures a stretch of yields with and without now and then, and
/// goes on with what was faster.
///
/// Owner only: one thread. Cost: a look at a clock for each stretch of 64 to 512 switches; one stretch of 64 runs the
/// slower way.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>

namespace shunt {
inline namespace v1 {
namespace sched {
namespace detail {

class look_ahead {
 public:
  using time = std::chrono::steady_clock::time_point;

  static constexpr std::size_t few =
      1024;  ///< the stacks of so many fibers are in near caches, with their translations
  static constexpr int stretches_per_trial = 64;

  /// A stretch of so many switches has ended. \return whether to prefetch in the next one.
  bool after(int switches, time now) noexcept {
    if (began_ != time{}) {
      const std::chrono::duration<double, std::nano> took = now - began_;
      note(took.count() / switches);
    }
    began_ = now;
    const bool pays = cost_[1] <= cost_[0];
    if (cost_[prefetches_] == 0) return prefetches_;
    if (cost_[!prefetches_] == 0) return prefetches_ = !prefetches_;
    if (--until_trial_ > 0) return prefetches_ = pays;
    until_trial_ = stretches_per_trial;
    return prefetches_ = !pays;
  }
  /// What comes next is no stretch: too few fibers yield, or the worker had nothing to do.
  void forget_begin() noexcept { began_ = {}; }

 private:
  void note(double cost) noexcept {
    double& known = cost_[prefetches_];
    if (known == 0) {
      known = cost;
    } else {
      known += (std::min(cost, outlier * known) - known) / weight;
    }
  }

  static constexpr double weight = 8;   // a mean of about so many stretches
  static constexpr double outlier = 4;  // times the mean: the worker had lost its CPU

  std::array<double, 2> cost_{};  // nanoseconds a switch, without and with; 0: not known
  bool prefetches_ = true;
  int until_trial_ = stretches_per_trial;
  time began_{};
};

}  // namespace detail
}  // namespace sched
}  // namespace v1
}  // namespace shunt
