/// Somebody who waits to be woken: a fiber, which parks, or a thread, which blocks. For code that both call.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

#include <shunt/sched/fiber.hpp>
#include <shunt/sched/futex.hpp>

namespace shunt {
inline namespace v1 {
namespace sched {

/// Lies on the stack of who sleeps; others know it by its address.
///
///   word    wake()            sleep(), sleep_until()   reset()
///   asleep  -> woken, wakes   wait                     -> asleep
///   woken   -> woken, wakes   return                   -> asleep
///
/// A second wake() before the reset may cut a later park short, as any stray wake.
///
/// Edge `woken`, wake() -> the return of sleep() or sleep_until(), or woken(): what the waker wrote is visible, and
/// what those wrote that woke it before: an exchange continues their release sequences, a store would not.
class sleeper {
 public:
  /// By the fiber or thread that will sleep. Not on a worker outside of its fibers: it would block all of them.
  sleeper() : fiber_(this_fiber::inside() ? this_fiber::self() : waker{}) {}
  sleeper(const sleeper&) = delete;
  sleeper& operator=(const sleeper&) = delete;

  /// Any thread, while the sleeper is sure to exist; it may be gone when this returns.
  void wake() noexcept {
    const auto whom = fiber_;                      // once the word says so, this object may go
    word_.exchange(1, std::memory_order_release);  // edge `woken` out
    if (whom) {
      whom.wake();
    } else {
      futex_wake(word_);  // by its address only: at worst somebody looks at another word in vain
    }
  }
  [[nodiscard]] bool woken() const noexcept { return word_.load(std::memory_order_acquire) != 0; }  // edge `woken` in

  /// \param what  static text, for the report of what is stuck.
  /// \throws as this_fiber::park(), before it waits.
  void sleep(const char* what) {
    if (fiber_) this_fiber::require_wait(what);
    static_cast<void>(sleep_until(std::chrono::steady_clock::time_point::max(), what));
  }
  /// \param deadline  time_point::max(): none.
  /// \return false: the time was over first. It may be woken all the same: who sleeps must see to it that nobody does.
  /// \throws as this_fiber::park_until(); see to it then, too, that nobody wakes it.
  [[nodiscard]] bool sleep_until(std::chrono::steady_clock::time_point deadline, const char* what) {
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

  /// For the next sleep. By the sleeper, while nobody else knows of it, or all who do hold the same lock.
  void reset() noexcept { word_.store(0, std::memory_order_relaxed); }  // relaxed: that lock orders it

 protected:
  [[nodiscard]] const std::atomic<std::uint32_t>& word() const noexcept { return word_; }

 private:
  const waker fiber_;  // nobody's: a thread
  std::atomic<std::uint32_t> word_{0};
};

}  // namespace sched
}  // namespace v1
}  // namespace shunt
