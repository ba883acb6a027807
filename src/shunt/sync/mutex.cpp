#include <shunt/sync/mutex.hpp>

#include <new>
#include <string>

#include <shunt/base/clock.hpp>

#include <shunt/sched/observe/deadlock.hpp>
#include <shunt/sync/detail/lock_graph.hpp>

namespace shunt {
inline namespace v1 {
namespace sync {
namespace {

using namespace std::chrono_literals;

constexpr int looks = 8;          // before a wait, each after as many pauses: about a microsecond, as long as a switch
constexpr auto starving = 1ms;    // waits this long are ended by handing the mutex over
constexpr auto long_wait = 10ms;  // a circle is looked for after it
constexpr auto what = "a mutex";

}  // namespace

sched::waker mutex::owner() noexcept {
  const std::lock_guard held(guard_);
  return owner_;
}

/// Looks a few times, since most holders are done soon; then queues.
bool mutex::lock_slowly(std::chrono::steady_clock::time_point deadline, call_site call) {
  detail::require_wait(call);
  detail::waiting me;
  me.fiber = caller();
  if (me.fiber && owner() == me.fiber) {
    throw sched::deadlock(error_number(410),
                          std::string(call.name()) + ": the fiber holds this mutex already" + call.place(),
                          call.where());
  }
  for (int look = 0; look < looks; ++look) {
    for (int pause = 0; pause < looks; ++pause) relax();
    if (try_lock()) return true;
  }
  const auto began = sched::now();
  for (bool woken = false;; woken = true) {
    me.overdue = woken && sched::now() - began > starving;
    guard_.lock();
    if (take()) break;
    if (woken) {
      me.reset();
      waiting_.push_front(me);
    } else {
      waiting_.push_back(me);
    }
    if (!wait_queued(me, deadline, call)) return false;
    if (me.owns) return true;
    if (deadline <= sched::now()) return try_lock();
  }
  guard_.unlock();
  return true;
}

/// A wait without a deadline joins the graph when it has lasted for long. The entry goes before the fiber runs on.
bool mutex::wait_queued(detail::waiting& me, std::chrono::steady_clock::time_point deadline, call_site call) {
  guard_.unlock();
  return detail::wait_queued(waiting_, me, guard_, [&] {
    if (!me.fiber || deadline != detail::never) return detail::sleep_until(me, deadline, what, call);
    try {
      if (me.wait_until(sched::after(long_wait), what, call)) return true;
    } catch (const std::bad_alloc&) {  // no memory for that deadline: it looks for a circle at once
    }
    const detail::lock_graph::entry listed(*this, me.fiber, call);
    return me.wait_until(detail::never, what, call);
  });
}

/// Under guard_, which it unlocks. The entry may be gone once it is woken.
void mutex::wake_next() noexcept {
  detail::waiting* const next = waiting_.pop();
  if (next->overdue) {
    next->owns = true;
    owner_ = next->fiber;
  } else {
    release();
  }
  guard_.unlock();
  next->wake();
}

}  // namespace sync
}  // namespace v1
}  // namespace shunt
