/// A point that a group of fibers and threads passes together, again and again.
#pragma once

#include <cstddef>
#include <functional>
#include <source_location>

#include <shunt/base/spin_lock.hpp>
#include <shunt/sync/detail/wait_queue.hpp>

namespace shunt {
inline namespace v1 {
namespace sync {

/// Each phase ends when as many have arrived as take part. (PEs have pe::barrier(), a collective call that works
/// between processes as well.)
///
/// Memory: what any member wrote before it arrived is visible to all after that phase.
class barrier {
 public:
  /// \param members     how many take part, 1 or more
  /// \param completion  is called by the last one that arrives, before the others go on. It must not throw or wait.
  /// \throws usage_error for another number.
  explicit barrier(std::ptrdiff_t members, std::function<void()> completion = {},
                   std::source_location where = std::source_location::current());
  barrier(const barrier&) = delete;
  barrier& operator=(const barrier&) = delete;

  /// A member. Waits for the others. \throws what sched::this_fiber::park() throws; then the caller has not arrived.
  void arrive_and_wait(std::source_location where = std::source_location::current());
  /// A member, which takes no part in later phases. Does not wait. If all others have arrived, this phase ends.
  void arrive_and_drop() noexcept;

 private:
  void end_phase() noexcept;

  spin_lock guard_;  // guards the numbers and the queue
  std::ptrdiff_t members_;
  std::ptrdiff_t arrived_ = 0;
  const std::function<void()> completion_;
  detail::wait_queue waiting_;
};

}  // namespace sync

using sync::barrier;

}  // namespace v1
}  // namespace shunt
