/// One wait of a fiber, or of a plain thread.
#pragma once

#include <chrono>
#include <shunt/sched/waiter.hpp>

namespace shunt {
inline namespace v1 {
namespace stm::detail {

using time_point = std::chrono::steady_clock::time_point;

/// Whether the caller may wait: a fiber that may park, or a thread that is not a worker.
[[nodiscard]] bool may_wait() noexcept;

/// Made, and waited on, by a caller that may wait (contract). Tests that run the engine under their own scheduler wait
/// there (test_wait()).
class waiter : private sched::waiter {
 public:
  using sched::waiter::reset;
  using sched::waiter::wake;
  using sched::waiter::woken;

  /// Waits for wake(). \param what  for the report of fibers that wait. \return false: the deadline came first. The
  /// result needs no look where there is no deadline. \throws std::bad_alloc, for a deadline.
  bool wait_until(time_point deadline, const char* what);
};

}  // namespace stm::detail
}  // namespace v1
}  // namespace shunt
