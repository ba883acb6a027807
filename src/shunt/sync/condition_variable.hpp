/// Waiting for a condition that a lock guards, for fibers and threads.
#pragma once

#include <chrono>
#include <concepts>
#include <exception>
#include <mutex>
#include <source_location>
#include <stop_token>
#include <utility>

#include <shunt/base/call_site.hpp>
#include <shunt/base/spin_lock.hpp>
#include <shunt/sched/fiber.hpp>
#include <shunt/sync/detail/wait_queue.hpp>

namespace shunt {
inline namespace v1 {
namespace sync {

/// What a condition variable unlocks while it waits: std::unique_lock or std::shared_lock of shunt::mutex,
/// shunt::shared_mutex, or of a mutex of the standard library where only threads wait.
template <class Lock>
concept basic_lock = requires(Lock& lock) {
  lock.lock();
  lock.unlock();
};

/// Fibers and threads wait on it until another one notifies it. Those that waited longest are woken first, and a wait
/// ends for no other reason than a notification, its deadline or an exception. A stop request notifies all.
///
/// ```cpp
/// std::unique_lock held(guard);
/// not_empty.wait(held, [&] { return !queue.empty(); });
/// ```
///
/// All waits unlock `lock` while they wait, and have locked it again when they return or throw. They throw what
/// sched::this_fiber::park() throws where the caller must not wait (before anything is unlocked), std::bad_alloc for a
/// deadline, and what lock() throws: only then the lock is not held. A thread may destroy the condition variable once
/// it has notified all waiters, and none of them has a deadline. Cost: a notification one exchange, and a wake for each
/// waiter; a wait what a park and a lock cost.
class condition_variable {
 public:
  condition_variable() noexcept = default;
  condition_variable(const condition_variable&) = delete;
  condition_variable& operator=(const condition_variable&) = delete;

  /// Any fiber or thread, with the lock or without. Wakes the one that has waited longest, if any.
  void notify_one() noexcept { wake(false); }
  /// Any fiber or thread, with the lock or without. Wakes all that wait now.
  void notify_all() noexcept { wake(true); }

  /// Waits for a notification.
  template <basic_lock Lock>
  void wait(Lock& lock, std::source_location where = std::source_location::current()) {
    static_cast<void>(wait_unless([] { return false; }, lock, detail::never, {"condition_variable::wait", where}));
  }
  /// Waits until `done()`, which is called with the lock held. Other threads notify after they changed it.
  template <basic_lock Lock, std::predicate Done>
  void wait(Lock& lock, Done done, std::source_location where = std::source_location::current()) {
    while (!done()) wait(lock, where);
  }

  /// \return false: `deadline` passed, and no notification was for this wait.
  template <basic_lock Lock>
  [[nodiscard]] bool wait_until(Lock& lock, std::chrono::steady_clock::time_point deadline,
                                std::source_location where = std::source_location::current()) {
    return wait_unless([] { return false; }, lock, deadline, {"condition_variable::wait_until", where});
  }
  /// The same, `time` from now at the latest.
  template <basic_lock Lock>
  [[nodiscard]] bool wait_for(Lock& lock, std::chrono::nanoseconds time,
                              std::source_location where = std::source_location::current()) {
    return wait_until(lock, sched::after(time), where);
  }
  /// \return done(): false if `deadline` passed before it was true.
  template <basic_lock Lock, std::predicate Done>
  [[nodiscard]] bool wait_until(Lock& lock, std::chrono::steady_clock::time_point deadline, Done done,
                                std::source_location where = std::source_location::current()) {
    while (!done()) {
      if (!wait_until(lock, deadline, where)) return done();
    }
    return true;
  }
  /// The same, `time` from now at the latest.
  template <basic_lock Lock, std::predicate Done>
  [[nodiscard]] bool wait_for(Lock& lock, std::chrono::nanoseconds time, Done done,
                              std::source_location where = std::source_location::current()) {
    return wait_until(lock, sched::after(time), std::move(done), where);
  }

  /// Waits until `done()`, until a request to stop, or until `deadline`. \return done().
  template <basic_lock Lock, std::predicate Done>
  [[nodiscard]] bool wait(Lock& lock, const std::stop_token& stop, Done done,
                          std::chrono::steady_clock::time_point deadline = detail::never,
                          std::source_location where = std::source_location::current()) {
    const sched::this_fiber::stay here;  // a stop_callback belongs to its thread
    const std::stop_callback on_stop(stop, [this] { notify_all(); });
    while (!done()) {
      if (stop.stop_requested()) return false;
      if (!wait_unless([&] { return stop.stop_requested(); }, lock, deadline, {"condition_variable::wait", where})) {
        return done();
      }
    }
    return true;
  }

 private:
  /// Queues before it asks `ended()`: a stop request that comes later finds the waiter in the queue.
  template <class Ended, class Lock>
  bool wait_unless(const Ended& ended, Lock& lock, std::chrono::steady_clock::time_point deadline, call_site call) {
    detail::require_wait(call);
    detail::waiting me;
    queue(me);
    if (ended()) {
      take_back(me);
      return true;
    }
    try {
      lock.unlock();
    } catch (...) {
      take_back(me);
      throw;
    }
    return locked_again(lock, [&] {
      return detail::wait_queued(waiting_, me, guard_,
                                 [&] { return detail::sleep_until(me, deadline, "a condition variable", call); });
    });
  }

  /// Waits, and locks again, also after an exception. If that lock fails, a notification goes to the next waiter.
  template <class Lock, class Wait>
  bool locked_again(Lock& lock, const Wait& wait) {
    bool notified = false;
    std::exception_ptr failure;
    try {
      notified = wait();
    } catch (...) {
      failure = std::current_exception();
    }
    try {
      lock.lock();
    } catch (...) {
      if (notified) notify_one();
      throw;
    }
    if (failure) std::rethrow_exception(failure);
    return notified;
  }

  void queue(detail::waiting& me) noexcept;
  void take_back(detail::waiting& me) noexcept;
  void wake(bool all) noexcept;

  spin_lock guard_;
  detail::wait_queue waiting_;
};

}  // namespace sync

using sync::condition_variable;

}  // namespace v1
}  // namespace shunt
