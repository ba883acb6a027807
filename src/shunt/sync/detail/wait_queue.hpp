/// Fibers and threads that wait for one object, the one that has waited longest first.
#pragma once

#include <chrono>
#include <mutex>

#include <shunt/base/call_site.hpp>
#include <shunt/base/spin_lock.hpp>
#include <shunt/sched/waiter.hpp>

namespace shunt {
inline namespace v1 {
namespace sync {

namespace detail {

/// A deadline that never comes.
inline constexpr auto never = std::chrono::steady_clock::time_point::max();

/// A fiber or thread in a queue; it lies on that one's stack.
struct waiting : sched::waiter {
  waiting* next = nullptr;      ///< the one that came later
  waiting* previous = nullptr;  ///< the one that came before
  bool queued = false;
  bool overdue = false;  ///< of a mutex: has waited so long that the next unlock hands it over
  bool owns = false;     ///< of a mutex: an unlock has handed it over, and not merely woken it
  bool shared = false;   ///< of a shared_mutex: waits to read
  sched::waker fiber;    ///< the one that waits; empty for a thread
};

/// The queue of one object. That object's spin lock guards the queue and every entry of it.
///
/// An entry leaves the queue in one of two ways. A waker takes it out (pop()) and wakes it, once and soon; or the
/// waiter takes it out itself (remove()), after a deadline or an exception. The one that removes the entry decides how
/// the wait ends.
/// \tparam Entry  has the members `next`, `previous` and `queued`
template <class Entry>
class queue_of {
 public:
  [[nodiscard]] bool empty() const noexcept { return first_ == nullptr; }
  [[nodiscard]] const Entry* front() const noexcept { return first_; }
  void push_back(Entry& me) noexcept {
    me.queued = true;
    me.next = nullptr;
    me.previous = last_;
    (last_ == nullptr ? first_ : last_->next) = &me;
    last_ = &me;
  }
  /// For a waiter that was woken in vain: it keeps its place.
  void push_front(Entry& me) noexcept {
    me.queued = true;
    me.previous = nullptr;
    me.next = first_;
    (first_ == nullptr ? last_ : first_->previous) = &me;
    first_ = &me;
  }
  /// Takes the first entry out. The queue is not empty.
  Entry* pop() noexcept {
    Entry* const oldest = first_;
    static_cast<void>(remove(*oldest));
    return oldest;
  }
  /// Takes out all, as a chain by `next`. \return null: there was none.
  Entry* pop_all() noexcept {
    Entry* const all = first_;
    for (Entry* each = all; each != nullptr; each = each->next) each->queued = false;
    first_ = last_ = nullptr;
    return all;
  }
  /// \return false: a waker has taken it out before.
  bool remove(Entry& me) noexcept {
    if (!me.queued) return false;
    me.queued = false;
    (me.previous == nullptr ? first_ : me.previous->next) = me.next;
    (me.next == nullptr ? last_ : me.next->previous) = me.previous;
    me.next = me.previous = nullptr;
    return true;
  }

 private:
  Entry* first_ = nullptr;
  Entry* last_ = nullptr;
};

/// An entry that a waker took out stays where it is until that waker has unlocked the object and woken it.
using wait_queue = queue_of<waiting>;

/// Wakes a chain of entries that was taken out. Not under a lock.
void wake_all(waiting* first) noexcept;

/// Waits for a wake that is under way: its thread is a few instructions away from it, or has lost its CPU.
void wait_for_wake(const sched::waiter& me) noexcept;

/// Throws what a wait of the caller would throw, before anything has been changed for it.
/// \param call  the function that the program called. \throws as sched::this_fiber::require_wait(), lend_frame().
void require_wait(call_site call);

/// Waits until a waker has taken `me` out of `queue` and woken it. `sleep` waits for the wake: it returns whether that
/// came, or throws. If it came, `queue` and `guard` are not touched any more.
///
/// After a deadline or an exception the entry may be in a waker's hands already: then the wait has succeeded after all,
/// and ends with that wake, which is a few instructions away.
/// \return false: no wake came, and `me` is not queued any more. \throws what `sleep` throws; `me` is not queued then.
template <class Sleep>
[[nodiscard]] bool wait_queued(wait_queue& queue, waiting& me, spin_lock& guard, const Sleep& sleep) {
  const auto take_back = [&] {
    const std::lock_guard held(guard);
    return queue.remove(me);
  };
  try {
    if (sleep()) return true;
    if (take_back()) return false;
  } catch (...) {
    if (take_back()) throw;
  }
  wait_for_wake(me);
  return true;
}

/// Waits for the wake until `deadline`, which may have passed. \return false: no wake came.
[[nodiscard]] inline bool sleep_until(sched::waiter& me, std::chrono::steady_clock::time_point deadline,
                                      const char* what, call_site call) {
  if (deadline != never && deadline <= sched::now()) return me.woken();
  return me.wait_until(deadline, what, call);
}

/// `me` is queued, and `guard` is held at the call; it is not held afterwards. \param what  for reports of what is
/// stuck.
/// \return false: `deadline` passed first. \throws std::bad_alloc for the deadline.
[[nodiscard]] inline bool wait(wait_queue& queue, waiting& me, spin_lock& guard,
                               std::chrono::steady_clock::time_point deadline, const char* what, call_site call) {
  guard.unlock();
  return wait_queued(queue, me, guard, [&] { return sleep_until(me, deadline, what, call); });
}

}  // namespace detail
}  // namespace sync
}  // namespace v1
}  // namespace shunt
