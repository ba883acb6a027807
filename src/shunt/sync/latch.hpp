/// A count that fibers and threads wait for, once.
#pragma once

#include <chrono>
#include <cstddef>
#include <source_location>

#include <shunt/base/spin_lock.hpp>
#include <shunt/sync/detail/wait_queue.hpp>

namespace shunt {
inline namespace v1 {
namespace sync {

/// Opens when it has been counted down to zero, and stays open. It may lie on the stack of a waiter: once a wait has
/// returned, no count_down() touches it any more.
///
/// Memory: what was written before a count_down() is visible after a wait.
class latch {
 public:
  /// \param count  0 or more. \throws usage_error for less.
  explicit latch(std::ptrdiff_t count, std::source_location where = std::source_location::current());
  latch(const latch&) = delete;
  latch& operator=(const latch&) = delete;

  /// Any fiber or thread. \param by  at most what is left of the count (contract). Cost: one exchange, and a wake for
  /// each waiter.
  void count_down(std::ptrdiff_t by = 1) noexcept;
  /// Whether it is open. Never waits.
  [[nodiscard]] bool try_wait() noexcept;
  /// Waits until it is open. \throws what sched::this_fiber::park() throws, if it must wait.
  void wait(std::source_location where = std::source_location::current()) {
    static_cast<void>(wait_until(detail::never, where));
  }
  /// \return false: the time passed first. \throws what wait() throws; std::bad_alloc.
  [[nodiscard]] bool wait_until(std::chrono::steady_clock::time_point deadline,
                                std::source_location where = std::source_location::current());
  /// The same, `time` from now at the latest.
  [[nodiscard]] bool wait_for(std::chrono::nanoseconds time,
                              std::source_location where = std::source_location::current()) {
    return wait_until(sched::after(time), where);
  }
  /// Both. \throws what wait() throws; then nothing has been counted.
  void arrive_and_wait(std::ptrdiff_t by = 1, std::source_location where = std::source_location::current());

 private:
  spin_lock guard_;  // guards the others
  std::ptrdiff_t count_;
  detail::wait_queue waiting_;
};

}  // namespace sync

using sync::latch;

}  // namespace v1
}  // namespace shunt
