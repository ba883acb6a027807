/// One wait of a fiber, or of a plain thread.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <shunt/sched/fiber.hpp>
#include <shunt/sched/futex.hpp>

namespace shunt {
inline namespace v1 {
namespace stm::detail {

using time_point = std::chrono::steady_clock::time_point;

/// Whether the caller may sleep: a fiber that may park, or a thread that is no worker.
[[nodiscard]] bool may_sleep() noexcept;

/// Lies on the stack of who sleeps.
///
///   word    wake()           sleep_until()
///   asleep  -> woken, wakes  waits
///   woken   -> woken         returns true
///
/// Edge `woken`: wake() (release) -> sleep_until() (acquire).
class sleeper {
 public:
  /// Whom sleep_until() will be called by. may_sleep() (contract).
  sleeper();

  /// Any thread, while the sleeper is sure to exist.
  void wake() noexcept {
    const auto whom = fiber_;                   // once the word says so, this object may go
    word_.store(1, std::memory_order_release);  // edge `woken`
    if (whom) {
      whom.wake();
    } else {
      sched::futex_wake(word_);
    }
  }
  /// \param what  static text, for the report of what is stuck.
  /// \return false if the time was over first. \throws std::bad_alloc, for a deadline.
  bool sleep_until(time_point deadline, const char* what);

  [[nodiscard]] bool woken() const noexcept { return word_.load(std::memory_order_acquire) != 0; }  // edge `woken`
  /// The sleeper itself, while nobody else knows of it, or all who do hold the same lock.
  void reset() noexcept { word_.store(0, std::memory_order_relaxed); }  // relaxed: a lock orders it

 private:
  std::atomic<std::uint32_t> word_{0};
  sched::waker fiber_;  // nobody's: a thread
};

}  // namespace stm::detail
}  // namespace v1
}  // namespace shunt
