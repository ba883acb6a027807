/// Timers: messages that an actor will get later, once or again and again. ref::tell_after() and tell_every() make
/// them.
#pragma once

#include <atomic>
#include <chrono>
#include <concepts>
#include <memory>
#include <source_location>
#include <utility>

#include <shunt/actor/detail/timers.hpp>
#include <shunt/base/call_site.hpp>

namespace shunt {
inline namespace v1 {
namespace actor {

template <typename T>
class ref;

/// The time of a timer, made of a duration in the call: ref::tell_after(5s, ...). It carries the line of the call, for
/// errors.
class timer_duration {
 public:
  /// \param where  programs leave it out.
  template <typename Rep, typename Period>
    requires std::convertible_to<std::chrono::duration<Rep, Period>, std::chrono::nanoseconds>
  timer_duration(std::chrono::duration<Rep, Period> time,
                 std::source_location where = std::source_location::current()) noexcept
      : time_(time), where_(where) {}

  /// The duration.
  [[nodiscard]] std::chrono::nanoseconds time() const noexcept { return time_; }
  /// The call that it was given to, for errors. \param name  static text: "tell_after".
  [[nodiscard]] call_site call(const char* name) const noexcept { return {name, where_}; }

 private:
  std::chrono::nanoseconds time_;
  std::source_location where_;
};

/// A message to come. A handle; dropping it changes nothing.
class timer {
 public:
  timer() noexcept = default;
  /// Any thread. No handler that has not begun will be called. Does nothing for a default-constructed timer.
  void cancel() noexcept {
    if (what_ != nullptr) what_->cancelled.store(true, std::memory_order_relaxed);  // relaxed: one that races is late
  }

 private:
  template <typename T>
  friend class ref;
  explicit timer(std::shared_ptr<detail::timed> t) noexcept : what_(std::move(t)) {}
  std::shared_ptr<detail::timed> what_;
};

}  // namespace actor
}  // namespace v1
}  // namespace shunt
