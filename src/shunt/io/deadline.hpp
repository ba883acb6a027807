/// How long a call may wait, and what else may end its wait.
///
/// ```cpp
/// line = peer.read_until("\n", 4096, 5s);              // 5 seconds from this construction on
/// line = peer.read_until("\n", 4096, at);              // a steady_clock::time_point
/// line = peer.read_until("\n", 4096, stop);            // a std::stop_token
/// line = peer.read_until("\n", 4096, {5s, stop});      // the first of the two
/// ```
///
/// It also carries the line of the call, for errors: where it is made in the call, as above, or is left out.
#pragma once

#include <chrono>
#include <source_location>
#include <stop_token>
#include <utility>

#include <shunt/base/call_site.hpp>
#include <shunt/sched/fiber.hpp>

namespace shunt {
inline namespace v1 {
namespace io {

/// The last parameter of each call that waits: a point in time, and a stop token. It bounds the waits of the whole
/// call, also where the call consists of many pieces. A call that needs no wait succeeds after the time as well; after
/// a stop request a call begins nothing and fails with errc::cancelled.
class deadline {
 public:
  /// The clock of time(): steady, so a change of the system's date moves no deadline.
  using clock = std::chrono::steady_clock;

  /// None: the call waits for ever. \param where  here and below: programs leave it out.
  deadline(std::source_location where = std::source_location::current()) noexcept : where_(where) {}

  /// \param from_now  counted from this construction; 0 or less: the call does not wait.
  template <typename Rep, typename Period>
  deadline(std::chrono::duration<Rep, Period> from_now, std::stop_token stop = {},
           std::source_location where = std::source_location::current()) noexcept
      : time_(after(from_now)), stop_(std::move(stop)), where_(where) {}
  /// \param time  in the past: the call does not wait. time_point::max(): no time, only the token.
  deadline(clock::time_point time, std::stop_token stop = {},
           std::source_location where = std::source_location::current()) noexcept
      : time_(time), stop_(std::move(stop)), where_(where) {}
  /// No time: only a stop request ends the wait early.
  deadline(std::stop_token stop, std::source_location where = std::source_location::current()) noexcept
      : stop_(std::move(stop)), where_(where) {}

  /// time_point::max() for none.
  [[nodiscard]] clock::time_point time() const noexcept { return time_; }
  /// The token; one without a stop source for none. A request wakes a fiber that waits.
  [[nodiscard]] const std::stop_token& stop() const noexcept { return stop_; }
  /// Whether the call may wait for ever: there is no time, and no stop source that could end the wait.
  [[nodiscard]] bool none() const noexcept { return time_ == clock::time_point::max() && !stop_.stop_possible(); }
  /// The line that made it: the call's, unless the program has made it before.
  [[nodiscard]] const std::source_location& where() const noexcept { return where_; }
  /// The call that it was given to, for errors. \param name  static text: "read_some".
  [[nodiscard]] call_site call(const char* name) const noexcept { return {name, where_}; }
  /// Whether the time has passed.
  [[nodiscard]] bool passed() const noexcept { return time_ != clock::time_point::max() && time_ <= sched::now(); }

 private:
  static clock::time_point after(std::chrono::duration<double> wanted) noexcept {
    const auto now = sched::now();
    const std::chrono::duration<double> most = clock::time_point::max() - now;
    if (!(wanted < most)) return clock::time_point::max();  // also for a duration that is not a number
    if (wanted <= wanted.zero()) return now;
    return now + std::chrono::ceil<clock::duration>(wanted);
  }

  clock::time_point time_ = clock::time_point::max();
  std::stop_token stop_;
  std::source_location where_;
};

}  // namespace io
}  // namespace v1
}  // namespace shunt
