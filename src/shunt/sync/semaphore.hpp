/// A counting semaphore for fibers and threads.
#pragma once

#include <chrono>
#include <cstddef>
#include <source_location>

#include <shunt/base/call_site.hpp>
#include <shunt/base/spin_lock.hpp>
#include <shunt/sync/detail/wait_queue.hpp>

namespace shunt {
inline namespace v1 {
namespace sync {

/// A number of permits. Those that wait get theirs in the order in which they came; a newcomer that finds a permit free
/// takes it. Any fiber or thread may release what another one has acquired.
///
/// ```cpp
/// shunt::semaphore connections(100);   // at most 100 at a time
/// connections.acquire();
/// // ...
/// connections.release();
/// ```
///
/// Cost: one exchange a call. Memory: what was written before a release is visible after the acquire that takes its
/// permit.
class semaphore {
 public:
  /// \param permits  free at the beginning, 0 or more. \throws usage_error for less.
  explicit semaphore(std::ptrdiff_t permits, std::source_location where = std::source_location::current());
  semaphore(const semaphore&) = delete;
  semaphore& operator=(const semaphore&) = delete;

  /// Takes a permit, and waits for one if none is free. \throws what sched::this_fiber::park() throws, if it must wait.
  void acquire(std::source_location where = std::source_location::current()) {
    if (!try_acquire()) static_cast<void>(acquire_slowly(detail::never, {"semaphore::acquire", where}));
  }
  /// Never waits. \return whether it took a permit.
  [[nodiscard]] bool try_acquire() noexcept;
  /// \return false: the time passed first. \throws what acquire() throws; std::bad_alloc.
  [[nodiscard]] bool try_acquire_until(std::chrono::steady_clock::time_point deadline,
                                       std::source_location where = std::source_location::current()) {
    return try_acquire() || acquire_slowly(deadline, {"semaphore::try_acquire_until", where});
  }
  /// The same, `time` from now at the latest.
  [[nodiscard]] bool try_acquire_for(std::chrono::nanoseconds time,
                                     std::source_location where = std::source_location::current()) {
    return try_acquire() || acquire_slowly(sched::after(time), {"semaphore::try_acquire_for", where});
  }

  /// Any fiber or thread. Gives permits to those that wait, and frees the rest. \param permits  0 or more (contract).
  void release(std::ptrdiff_t permits = 1) noexcept;

  /// Permits that are free now. A moment later it may be another number.
  [[nodiscard]] std::ptrdiff_t available() noexcept;

 private:
  bool acquire_slowly(std::chrono::steady_clock::time_point deadline, call_site call);

  spin_lock guard_;  // guards the others
  std::ptrdiff_t free_;
  detail::wait_queue waiting_;
};

}  // namespace sync

using sync::semaphore;

}  // namespace v1
}  // namespace shunt
