/// How long an operation may wait, and who may end its waiting.
///
/// ```cpp
/// line = peer.read_until("\n", 4096, 5s);              // counted from here
/// line = peer.read_until("\n", 4096, deadline);        // a steady_clock::time_point
/// line = peer.read_until("\n", 4096, stop);            // a std::stop_token
/// line = peer.read_until("\n", 4096, {5s, stop});      // whichever comes first
/// ```
#pragma once

#include <chrono>
#include <stop_token>
#include <utility>

#include <shunt/sched/fiber.hpp>

namespace shunt {
inline namespace v1 {
namespace io {

/// The last parameter of everything that waits. It bounds the waiting of the whole call, also where
/// that is made of many pieces. What needs no wait succeeds after the deadline as well; after a
/// stop request nothing is begun.
class limit {
 public:
  using clock = std::chrono::steady_clock;

  limit() noexcept = default;  ///< none: waits for ever

  /// \param from_now  counted from this construction; 0 or less: does not wait.
  template <typename Rep, typename Period>
  limit(std::chrono::duration<Rep, Period> from_now, std::stop_token stop = {}) noexcept
      : deadline_(after(from_now)), stop_(std::move(stop)) {}
  limit(clock::time_point deadline, std::stop_token stop = {}) noexcept : deadline_(deadline), stop_(std::move(stop)) {}
  limit(std::stop_token stop) noexcept : stop_(std::move(stop)) {}

  /// time_point::max() for none.
  [[nodiscard]] clock::time_point deadline() const noexcept { return deadline_; }
  [[nodiscard]] const std::stop_token& stop() const noexcept { return stop_; }
  /// Neither a deadline nor somebody who could ask to stop.
  [[nodiscard]] bool none() const noexcept { return deadline_ == clock::time_point::max() && !stop_.stop_possible(); }
  [[nodiscard]] bool over() const noexcept {
    return deadline_ != clock::time_point::max() && deadline_ <= sched::now();
  }

 private:
  static clock::time_point after(std::chrono::duration<double> wanted) noexcept {
    const auto now = sched::now();
    const std::chrono::duration<double> most = clock::time_point::max() - now;
    if (!(wanted < most)) return clock::time_point::max();  // so is what is not a number
    if (wanted <= wanted.zero()) return now;
    return now + std::chrono::ceil<clock::duration>(wanted);
  }

  clock::time_point deadline_ = clock::time_point::max();
  std::stop_token stop_;
};

}  // namespace io
}  // namespace v1
}  // namespace shunt
