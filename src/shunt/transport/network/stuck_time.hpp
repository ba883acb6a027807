/// For how long a call of a network's library has not come back.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>

namespace shunt {
inline namespace v1 {
namespace transport {
namespace network {

/// The time since the gate was last open, as vain waits for it show: once, also where several threads wait.
class stuck_time {
 public:
  using clock = std::chrono::steady_clock;  ///< it goes on while this process is stopped: hence `most`

  /// Any thread, which has waited for the gate in vain. What lies between two such waits counts, too.
  /// \param most  what one call counts at most: this process may have been stopped meanwhile
  /// \return since the first of these waits began
  std::chrono::nanoseconds add(clock::time_point begin, clock::time_point end, std::chrono::nanoseconds most) noexcept {
    // relaxed, all here: a sum that several threads may spoil by one wait.
    const clock::time_point counted(
        clock::duration(counted_.exchange(end.time_since_epoch().count(), std::memory_order_relaxed)));
    const bool first = sum_.load(std::memory_order_relaxed) == 0;
    const auto more = std::clamp<std::chrono::nanoseconds>(end - (first ? begin : counted), {}, most);
    const auto before = sum_.fetch_add(more.count(), std::memory_order_relaxed);  // relaxed: as above
    return std::chrono::nanoseconds(before) + more;
  }
  /// Any thread: the gate has opened.
  void clear() noexcept { sum_.store(0, std::memory_order_relaxed); }  // relaxed: as above

 private:
  std::atomic<std::chrono::nanoseconds::rep> sum_{0};
  std::atomic<clock::rep> counted_{0};  // until then all waits are in the sum
};

}  // namespace network
}  // namespace transport
}  // namespace v1
}  // namespace shunt
