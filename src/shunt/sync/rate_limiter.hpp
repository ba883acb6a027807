/// So many permits a second, for fibers and threads.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <source_location>

#include <shunt/base/call_site.hpp>

namespace shunt {
inline namespace v1 {
namespace sync {

/// A token bucket: `burst` permits fit, it is full at the beginning, and it fills by `per_second`. Those that wait get
/// their permits in the order of their calls. Any number of fibers and threads.
///
/// ```cpp
/// shunt::rate_limiter requests(100, 10);   // 100 a second, 10 of them at once
/// requests.acquire();
/// ask(server);
/// ```
///
/// It keeps one time, the one at which the bucket will be full: the generic cell rate algorithm of ITU-T I.371. As
/// golang.org/x/time/rate and Guava's RateLimiter.
///
/// Cost: a reading of the clock and a compare-exchange a call. It orders no memory: what one caller wrote is not made
/// visible to another.
class rate_limiter {
 public:
  /// \param per_second  more than 0, at most 1e9; kept to a 64th of a nanosecond a permit.
  /// \param burst       at least 1; full within a year.
  /// \throws usage_error for other values.
  explicit rate_limiter(double per_second, std::uint64_t burst = 1,
                        std::source_location where = std::source_location::current());
  rate_limiter(const rate_limiter&) = delete;
  rate_limiter& operator=(const rate_limiter&) = delete;

  /// Takes permits, and waits for them if there are too few.
  /// \param permits  at most burst(). \throws usage_error for more; what sched::this_fiber::park() throws, if it must
  /// wait.
  void acquire(std::uint64_t permits = 1);
  /// Never waits. \return whether it took the permits. \throws usage_error as acquire().
  [[nodiscard]] bool try_acquire(std::uint64_t permits = 1);
  /// \return false, at once and without a permit: they would come after the deadline. \throws what acquire() throws.
  [[nodiscard]] bool try_acquire_until(std::chrono::steady_clock::time_point deadline, std::uint64_t permits = 1);
  /// The same, `time` from now at the latest.
  [[nodiscard]] bool try_acquire_for(std::chrono::nanoseconds time, std::uint64_t permits = 1);

  /// Permits that can be taken at once, at most.
  [[nodiscard]] std::uint64_t burst() const noexcept { return burst_; }

 private:
  using clock = std::chrono::steady_clock;
  using tick = std::chrono::duration<std::int64_t, std::ratio<1, 64'000'000'000>>;

  bool take(clock::time_point latest, std::uint64_t permits, call_site call);

  const std::uint64_t burst_;
  const double ticks_a_permit_;
  const std::int64_t bucket_;  // ticks until an empty bucket is full
  const clock::time_point begin_;
  std::atomic<std::int64_t> full_;  // when the bucket will be full: ticks after begin_
};

}  // namespace sync

using sync::rate_limiter;

}  // namespace v1
}  // namespace shunt
