#include <shunt/actor/detail/timers.hpp>

#include <shunt/actor/detail/actor_system.hpp>
#include <shunt/actor/detail/dispatcher.hpp>

namespace shunt {
inline namespace v1 {
namespace actor::detail {

using std::chrono::steady_clock;

/// Enters the timer, and wakes the clock if that is the next one. The clock lives on worker 0: another thread wakes it
/// by a control there, which is looked at before each batch. A worker that is never idle looks for wakes of other
/// threads every 64 switches only, which may be as many batches.
void timers::schedule(const std::shared_ptr<timed>& what, steady_clock::time_point when) {
  sched::waker clock;  // null, if it need not be woken, or has not begun: then it looks at all timers
  {
    const std::scoped_lock held(lock_);
    if (closed_) return;
    const auto at = waiting_.emplace(when, what);
    if (at == waiting_.begin()) clock = clock_;
  }
  if (!clock) return;
  dispatcher& home = *of_.dispatchers()[0];
  if (dispatcher::here() == &home) return clock.wake();
  home.call_soon([clock] { clock.wake(); });
}

/// Takes the timers whose time has come, and enters those with a period anew: for the next full period from now, so
/// that periods that were missed do not come in a crowd. \return false: closed.
bool timers::take_due(std::vector<std::shared_ptr<timed>>& due, steady_clock::time_point& next) {
  const std::scoped_lock held(lock_);
  if (closed_) return false;
  const auto now = sched::now();
  while (!waiting_.empty() && waiting_.begin()->first <= now) {
    const auto node = waiting_.extract(waiting_.begin());
    const auto& t = node.mapped();
    if (t->cancelled.load(std::memory_order_relaxed)) continue;  // relaxed: a cancel that races is late
    due.push_back(t);
    if (t->period.count() > 0) waiting_.emplace(node.key() + t->period * ((now - node.key()) / t->period + 1), t);
  }
  if (!waiting_.empty()) next = waiting_.begin()->first;
  return true;
}

void timers::run_clock() {
  auto& fibers = of_.dispatchers()[0]->handlers();
  fibers.fiber_begun();
  try {
    sched::this_fiber::require_stack();
  } catch (...) {
    of_.report_begun(std::current_exception());
    return fibers.fiber_left();
  }
  {
    const std::scoped_lock held(lock_);
    clock_ = sched::this_fiber::self();
  }
  of_.clock_begun();
  for (;;) {
    auto next = steady_clock::time_point::max();
    std::vector<std::shared_ptr<timed>> due;
    if (!take_due(due, next)) break;
    for (const auto& t : due) t->fire(t);
    if (due.empty()) static_cast<void>(sched::this_fiber::park_until(next, "the next timer"));
  }
  fibers.fiber_left();
  of_.clock_left();
}

void timers::close() noexcept {
  sched::waker clock;
  {
    const std::scoped_lock held(lock_);
    closed_ = true;
    clock = clock_;
    waiting_.clear();
  }
  clock.wake();
}

}  // namespace actor::detail
}  // namespace v1
}  // namespace shunt
