/// A time to wait, as Linux's system calls take it.
#pragma once

#include <algorithm>
#include <chrono>
#include <ctime>

namespace shunt {
inline namespace v1 {

/// A timespec, or null for "for ever".
class wait_time {
 public:
  /// \param at_most  nanoseconds::max() is for ever; less than 0 is 0.
  explicit wait_time(std::chrono::nanoseconds at_most) noexcept
      : for_ever_(at_most == std::chrono::nanoseconds::max()) {
    const auto left = std::max(at_most, std::chrono::nanoseconds::zero());
    const auto whole = std::chrono::floor<std::chrono::seconds>(left);
    time_.tv_sec = static_cast<time_t>(whole.count());
    time_.tv_nsec = static_cast<long>((left - whole).count());
  }

  /// Valid as long as this object.
  [[nodiscard]] const timespec* get() const noexcept { return for_ever_ ? nullptr : &time_; }

 private:
  timespec time_{};
  bool for_ever_;
};

}  // namespace v1
}  // namespace shunt
