/// A wait for a wake that works for both: a fiber parks, a thread blocks. For code that fibers and threads call.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

#include <shunt/base/call_site.hpp>
#include <shunt/base/futex.hpp>
#include <shunt/sched/fiber.hpp>

namespace shunt {
inline namespace v1 {
namespace sched {

/// A fiber or thread that waits; it lies on that one's stack. Wakers have its address.
///
///   word      wake()            wait(), wait_until()   reset()
///   waiting   -> woken, wakes   wait                   -> waiting
///   woken     -> woken, wakes   return                 -> waiting
///
/// A second wake() before the reset may end a later park early, like any stray wake.
///
/// Edge `woken`, wake() -> the return of wait() or wait_until(), or woken(): what the waker wrote is visible, and
/// what earlier wakers wrote. (An exchange continues their release sequences; a store would not.)
class waiter {
 public:
  /// The fiber or thread that will wait. Not on a worker outside of its fibers: the wait would block all of them.
  waiter() : fiber_(this_fiber::inside() ? this_fiber::self() : waker{}) {}
  waiter(const waiter&) = delete;
  waiter& operator=(const waiter&) = delete;

  /// Any thread, while the waiter exists for sure. It may be gone when this returns.
  void wake() noexcept {
    const auto waiting = fiber_;                   // once the word says `woken`, this object may go
    word_.exchange(1, std::memory_order_release);  // edge `woken` out
    if (waiting) {
      waiting.wake();
    } else {
      futex_wake(word_);  // uses the address only: at worst another word's waiter wakes in vain
    }
  }
  /// Any thread: whether a wake has come since the last reset().
  [[nodiscard]] bool woken() const noexcept { return word_.load(std::memory_order_acquire) != 0; }  // edge `woken` in

  /// \param what  static text, for the report of what is stuck. \param call  the function that the program called, for
  /// errors. \throws what this_fiber::require_wait(call) throws, before it waits, also if it would not have to.
  void wait(const char* what, call_site call) {
    static_cast<void>(wait_until(std::chrono::steady_clock::time_point::max(), what, call));
  }
  /// \param deadline  time_point::max(): none.
  /// \return false: the deadline passed first. A waker may still have the address: the caller must take it away from
  /// all wakers before this object goes. The same holds after an exception. \throws what wait() throws;
  /// std::bad_alloc, for a deadline.
  [[nodiscard]] bool wait_until(std::chrono::steady_clock::time_point deadline, const char* what, call_site call) {
    if (fiber_) {
      this_fiber::require_wait(call);
      this_fiber::lend_frame(call);
    }
    constexpr auto for_ever = std::chrono::steady_clock::time_point::max();
    while (!woken()) {
      if (fiber_) {
        if (!this_fiber::park_until(deadline, what)) return woken();
      } else if (deadline == for_ever) {
        futex_wait(word_, 0);
      } else {
        const auto left = deadline - now();
        if (left <= left.zero()) return woken();
        futex_wait(word_, 0, left);
      }
    }
    return true;
  }

  /// Prepares the next wait. The waiter, while no other thread has the address, or under a lock that all wakers hold.
  void reset() noexcept { word_.store(0, std::memory_order_relaxed); }  // relaxed: that lock orders it

 protected:
  /// 0 until a wake comes; for those that wait on its address.
  [[nodiscard]] const std::atomic<std::uint32_t>& word() const noexcept { return word_; }

 private:
  const waker fiber_;  // empty: a thread waits
  std::atomic<std::uint32_t> word_{0};
};

}  // namespace sched
}  // namespace v1
}  // namespace shunt
