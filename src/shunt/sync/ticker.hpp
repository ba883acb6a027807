/// Points in time at a fixed distance, for fibers and threads.
#pragma once

#include <chrono>
#include <cstdint>
#include <source_location>
#include <stop_token>

namespace shunt {
inline namespace v1 {
namespace sync {

/// Ticks at begin + period, begin + 2 periods, and so on: the distance does not grow by the time that the work between
/// two ticks takes. Ticks that pass while its user is busy are not made up for: the next call returns how many there
/// were. One fiber or thread uses it.
///
/// ```cpp
/// shunt::ticker every_second(1s);
/// while (const auto ticks = every_second.next(stop)) report(ticks);   // ends when `stop` is asked to stop
/// ```
///
/// As Go's time.Ticker, and tokio's interval with MissedTickBehavior::Skip.
class ticker {
 public:
  /// The clock: steady, so that a change of the system's date moves no tick.
  using clock = std::chrono::steady_clock;

  /// \param period  more than 0. \throws usage_error for less.
  explicit ticker(std::chrono::nanoseconds period, std::source_location where = std::source_location::current());
  /// The same; the first tick is at `begin` + `period`.
  ticker(std::chrono::nanoseconds period, clock::time_point begin,
         std::source_location where = std::source_location::current());

  /// Waits for the next tick, or returns at once if one has passed since the last call. `stop` ends the wait.
  /// \return ticks since the last call, at least 1; 0: `stop` was asked to stop.
  /// \throws what sched::this_fiber::park() throws, if it must wait; std::bad_alloc.
  std::uint64_t next(const std::stop_token& stop = {});

  /// Never waits. \return ticks since the last call, perhaps 0.
  [[nodiscard]] std::uint64_t passed() noexcept;

  /// When the next tick is: always later than the last call.
  [[nodiscard]] clock::time_point due() const noexcept { return due_; }
  /// From tick to tick.
  [[nodiscard]] std::chrono::nanoseconds period() const noexcept { return period_; }
  /// From now on ticks come so far apart, the first of them `period` from now. \throws usage_error for 0 or less.
  void restart(std::chrono::nanoseconds period, std::source_location where = std::source_location::current());

 private:
  std::chrono::nanoseconds period_;
  clock::time_point due_;
};

}  // namespace sync

using sync::ticker;

}  // namespace v1
}  // namespace shunt
