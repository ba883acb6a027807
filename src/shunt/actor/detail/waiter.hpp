/// Somebody who waits to be told once: a fiber, which parks, or a thread, which blocks.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

#include <shunt/sched.hpp>

namespace shunt {
inline namespace v1 {
namespace detail::typed {

/// On the stack of who waits.
///
/// Edge `told`, tell() -> wait(): what the teller wrote is visible to the waiter.
class waiter {
 public:
  waiter() : who_(sched::this_fiber::inside() ? sched::this_fiber::self() : sched::waker{}) {}
  waiter(const waiter&) = delete;
  waiter& operator=(const waiter&) = delete;

  /// Any thread, once. Touches nothing of the waiter after its store, but that a thread's futex word is woken by
  /// address.
  void tell() noexcept {
    const auto who = who_;
    told_.store(1, std::memory_order_release);  // edge `told` out
    if (who) {
      who.wake();
    } else {
      sched::futex_wake(told_);
    }
  }
  [[nodiscard]] bool told() const noexcept { return told_.load(std::memory_order_acquire) != 0; }  // edge `told` in

  /// \param what  static text, as this_fiber::park(). \throws as park(), before it waits.
  void wait(const char* what) {
    if (who_) sched::this_fiber::require_wait(what);
    while (!told()) {
      if (who_) {
        sched::this_fiber::park(what);
      } else {
        sched::futex_wait(told_, 0);
      }
    }
  }
  /// \return whether it was told. If not, it still may be: who waits must see to it that nobody does.
  [[nodiscard]] bool wait_until(std::chrono::steady_clock::time_point deadline, const char* what) {
    while (!told()) {
      if (who_) {
        if (!sched::this_fiber::park_until(deadline, what)) return told();
      } else {
        const auto left = deadline - sched::now();
        if (left <= left.zero()) return told();
        sched::futex_wait(told_, 0, left);
      }
    }
    return true;
  }

  waiter* next = nullptr;

 private:
  const sched::waker who_;
  std::atomic<std::uint32_t> told_{0};
};

}  // namespace detail::typed
}  // namespace v1
}  // namespace shunt
