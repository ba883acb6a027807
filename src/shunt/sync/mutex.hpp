/// A mutex for fibers and threads.
#pragma once

#include <chrono>
#include <mutex>
#include <source_location>

#include <shunt/base/call_site.hpp>
#include <shunt/base/spin_lock.hpp>
#include <shunt/sched/fiber.hpp>
#include <shunt/sync/detail/wait_queue.hpp>

namespace shunt {
inline namespace v1 {
namespace sync {
namespace detail {
class lock_graph;
}

/// Mutual exclusion. A fiber that waits for it leaves its worker to other fibers; a thread that waits sleeps. Fibers of
/// any worker and of any runtime, and threads, may share one. The holder may wait while it holds the mutex, and unlocks
/// it where it locked it: in the same fiber (which may have migrated), or in the same thread.
///
/// It meets the requirements TimedLockable, so std::lock_guard, std::unique_lock and std::scoped_lock take it:
///
/// ```cpp
/// shunt::mutex guard;
/// std::map<std::string, int> seen;
/// void count(const std::string& word) {
///   const std::lock_guard held(guard);
///   ++seen[word];
/// }
/// ```
///
/// Order: a waiter that was woken competes with newcomers, which costs no switch. One that was woken in vain, more than
/// a millisecond after it came, is handed the mutex by the next unlock, so none starves. (Go's sync.Mutex has the same
/// two modes.)
///
/// Deadlock: a fiber that locks what it holds, or that closes a circle of fibers which wait for each other's mutexes
/// without a deadline, gets sched::deadlock with their names. A circle is looked for once a wait has lasted 10 ms.
/// Threads are not looked at.
///
/// Cost: two exchanges for lock and unlock together, as std::mutex; 32 bytes. Memory: what a holder wrote before
/// unlock() is visible to the next holder.
class mutex {
 public:
  mutex() noexcept = default;
  mutex(const mutex&) = delete;
  mutex& operator=(const mutex&) = delete;

  /// A fiber or thread that does not hold it.
  /// \throws sched::deadlock; and if it has to wait what sched::this_fiber::park() throws (in a handler, in a
  /// transaction), usage_error in a compact fiber.
  void lock(std::source_location where = std::source_location::current()) {
    if (!try_lock()) static_cast<void>(lock_slowly(detail::never, {"mutex::lock", where}));
  }

  /// A fiber or thread that does not hold it. Never waits. \return whether the caller holds it now.
  [[nodiscard]] bool try_lock() noexcept {
    sched::this_fiber::interleave();
    const std::lock_guard held(guard_);
    return take();
  }

  /// The same as lock(), until `deadline` at the latest. \return false: the deadline passed first.
  /// \throws what lock() throws, but no deadlock of several fibers: the deadline ends it.
  [[nodiscard]] bool try_lock_until(std::chrono::steady_clock::time_point deadline,
                                    std::source_location where = std::source_location::current()) {
    return try_lock() || lock_slowly(deadline, {"mutex::try_lock_until", where});
  }
  /// The same, `time` from now at the latest.
  [[nodiscard]] bool try_lock_for(std::chrono::nanoseconds time,
                                  std::source_location where = std::source_location::current()) {
    return try_lock() || lock_slowly(sched::after(time), {"mutex::try_lock_for", where});
  }

  /// The holder.
  void unlock() noexcept {
    guard_.lock();
    if (waiting_.empty()) [[likely]] {
      release();
      guard_.unlock();
    } else {
      wake_next();
    }
  }

 private:
  friend class detail::lock_graph;

  [[nodiscard]] static sched::waker caller() noexcept {
    return sched::this_fiber::inside() ? sched::this_fiber::self() : sched::waker{};
  }
  [[nodiscard]] bool take() noexcept {
    if (locked_) return false;
    locked_ = true;
    owner_ = caller();
    return true;
  }
  void release() noexcept {
    locked_ = false;
    owner_ = {};
  }
  [[gnu::noinline]] bool lock_slowly(std::chrono::steady_clock::time_point deadline, call_site call);
  [[nodiscard]] bool wait_queued(detail::waiting& me, std::chrono::steady_clock::time_point deadline, call_site call);
  [[gnu::noinline]] void wake_next() noexcept;
  [[nodiscard]] sched::waker owner() noexcept;

  // guard_ guards the others. Unlocking it is the last access of unlock(): the next holder may destroy the mutex then.
  spin_lock guard_;
  bool locked_ = false;
  sched::waker owner_;  ///< empty: free, or a thread's
  detail::wait_queue waiting_;
};

static_assert(sizeof(void*) != 8 || sizeof(mutex) == 32);

}  // namespace sync

using sync::mutex;

}  // namespace v1
}  // namespace shunt
