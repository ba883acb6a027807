/// Timers: messages that an actor will get later, once or again and again. ref::tell_after() and tell_every() make
/// them.
#pragma once

#include <atomic>
#include <memory>
#include <utility>

#include <shunt/actor/detail/timers.hpp>

namespace shunt {
inline namespace v1 {
namespace actor {

template <typename T>
class ref;

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
