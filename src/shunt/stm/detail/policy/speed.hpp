/// How fast one worker runs a class's transactions, compared with all workers that run them. Cores differ, above all
/// where other virtual machines share them, and then equal times are not equal shares.
///
/// Policy: nothing breaks whatever it returns, and workers that call at the same time may overwrite each other's
/// measure.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>

namespace shunt {
inline namespace v1 {
namespace stm::detail {

class speed {
 public:
  // A larger difference between workers is not due to their cores, but to what their transactions do.
  static constexpr double least = 2.0 / 3;
  static constexpr double most = 3.0 / 2;

  /// Any worker, some 20 times a millisecond. \param transactions, time  what it has run since the last call, and how
  /// long that took; both above 0. \return its relative speed, least..most: 1 is as fast as all.
  double compare(double transactions, std::chrono::nanoseconds time) noexcept {
    const double mine = transactions / static_cast<double>(time.count());
    const double all = mean_.load(std::memory_order_relaxed);  // relaxed, both: policy
    mean_.store(all == 0 ? mine : all + (mine - all) / horizon, std::memory_order_relaxed);
    return all == 0 ? 1 : std::clamp(mine / all, least, most);
  }

 private:
  // In calls. Longer than many slices, so that the mean does not follow the worker whose slice it is.
  static constexpr double horizon = 1024;

  std::atomic<double> mean_{0};  // transactions a ns; 0: there was no call yet
};

}  // namespace stm::detail
}  // namespace v1
}  // namespace shunt
