/// How fast a class's transactions go by on one worker, compared with all that run them: cores differ, above all where
/// others share them, and equal times are not equal shares.
///
/// Policy: nothing breaks whatever it says, and workers that tell at once may overwrite each other.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>

namespace shunt {
inline namespace v1 {
namespace stm::detail {

class pace {
 public:
  // Where workers differ by more, it is not for their cores, but for what their transactions do.
  static constexpr double least = 2.0 / 3;
  static constexpr double most = 3.0 / 2;

  /// Any worker, some 20 times a millisecond: it has run so many in that time, both above 0.
  /// \return how fast that is, least..most: 1 is as fast as all.
  double compare(double transactions, std::chrono::nanoseconds time) noexcept {
    const double mine = transactions / static_cast<double>(time.count());
    const double all = mean_.load(std::memory_order_relaxed);  // relaxed, both: policy
    mean_.store(all == 0 ? mine : all + (mine - all) / horizon, std::memory_order_relaxed);
    return all == 0 ? 1 : std::clamp(mine / all, least, most);
  }

 private:
  // In looks. Longer than many slices, so that it is not the measure whose turn it is.
  static constexpr double horizon = 1024;

  std::atomic<double> mean_{0};  // transactions a ns; 0: nobody has told
};

}  // namespace stm::detail
}  // namespace v1
}  // namespace shunt
