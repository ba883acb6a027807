/// Whether a yield asks for the stack of a fiber some seats ahead: tried, and done while it pays.
///
/// Among many fibers the next one's stack is in no near cache, nor is its page's translation. To have asked for it a
/// dozen seats earlier hides most of both, and a yield takes half as long. Unless a fiber's loop lives in its registers
/// (context/switch.hpp): then nothing needs the stack, and finding its page is most of what a yield costs. Nobody can
/// tell which it is, so the worker measures a stretch of yields with and without, now and then, and goes on with what
/// was faster.
///
/// One thread's. Cost: a look at a clock for each stretch of 64 to 512 switches, and one stretch of 64 is the slower
/// one's.
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

  static constexpr std::size_t few = 1024;  ///< so many fibers' stacks are near, with their translations
  static constexpr int stretches_a_trial = 64;

  /// A stretch of so many switches has ended. \return whether to ask in the next one.
  bool after(int switches, time now) noexcept {
    if (began_ != time{}) {
      const std::chrono::duration<double, std::nano> took = now - began_;
      note(took.count() / switches);
    }
    began_ = now;
    const bool pays = cost_[1] <= cost_[0];
    if (cost_[asks_] == 0) return asks_;
    if (cost_[!asks_] == 0) return asks_ = !asks_;
    if (--until_trial_ > 0) return asks_ = pays;
    until_trial_ = stretches_a_trial;
    return asks_ = !pays;
  }
  /// What comes next is no stretch: who yields are too few, or the worker had nothing to do.
  void forget_begin() noexcept { began_ = {}; }

 private:
  void note(double cost) noexcept {
    double& known = cost_[asks_];
    if (known == 0) {
      known = cost;
    } else {
      known += (std::min(cost, outlier * known) - known) / weight;
    }
  }

  static constexpr double weight = 8;   // a mean of about so many stretches
  static constexpr double outlier = 4;  // times the mean: the worker had lost its CPU

  std::array<double, 2> cost_{};  // nanoseconds a switch, without and with; 0: not known
  bool asks_ = true;
  int until_trial_ = stretches_a_trial;
  time began_{};
};

}  // namespace detail
}  // namespace sched
}  // namespace v1
}  // namespace shunt
