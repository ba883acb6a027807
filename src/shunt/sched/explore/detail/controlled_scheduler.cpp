#include <shunt/sched/explore/detail/controlled_scheduler.hpp>

#include <algorithm>
#include <chrono>
#include <mutex>
#include <string>
#include <utility>

#include <shunt/base/error.hpp>
#include <shunt/sched/detail/worker.hpp>
#include <shunt/sched/jobs/detail/helpers.hpp>
#include <shunt/sched/observe/detail/fiber_dump.hpp>

namespace shunt {
inline namespace v1 {
namespace sched {
namespace detail {
namespace {

std::string why_stuck(shared& all) {
  std::string text = fibers_of(all);
  const std::scoped_lock held(all.failure_lock);
  if (all.failure) text = "an exception has left a fiber: " + what_of(all.failure) + '\n' + text;
  return text;
}

}  // namespace

constinit std::atomic<int> controlled_runs{0};

std::chrono::steady_clock::time_point now_controlled() noexcept {
  const worker* const here = worker::current();
  return here != nullptr && here->controlled != nullptr ? here->controlled->now : std::chrono::steady_clock::now();
}

void interleave_slowly() noexcept {
  if (worker* const here = worker::current(); here != nullptr) here->interleave();
}

/// Time stands still while a fiber can go on; then it jumps to the next deadline; then all have ended, or are stuck.
void controlled_scheduler::loop(worker& w) noexcept {
  for (;;) {
    const bool moved = gather(w);
    if (!ready.empty()) {
      w.run(choose(w));
    } else if (moved) {
      continue;  // what the pollers moved may let them move more
    } else if (!w.deadlines.empty()) {
      now = std::max(now, w.deadlines.first());
    } else if (w.all.all_ended()) {
      w.all.stop();
      return;
    } else {
      const bool fed = w.outside != nullptr && w.outside->fed_from_outside();
      if (!fed && !w.remote.inbox.has_anything()) strategy.stuck(why_stuck(w.all));
      w.idle.sleep(w);
    }
  }
}

/// Moves all fibers that can go on to `ready`: first the one that called interleave(), then the others in the order in
/// which they came. The pollers come last: has_runnable() tells them whether a fiber can go on.
/// \return whether a poller moved something.
bool controlled_scheduler::gather(worker& w) noexcept {
  w.drain();
  w.expire();
  collect(w);
  if (stopped != nullptr) ready.insert(ready.begin(), stopped);
  if (w.outside == nullptr || !w.outside->poll()) return false;
  collect(w);
  return true;
}

void controlled_scheduler::collect(worker& w) noexcept {
  if (w.run_next != nullptr) ready.push_back(std::exchange(w.run_next, nullptr));
  while (!w.ready.empty()) ready.push_back(w.ready.pop());
  while (!w.migratable.empty()) ready.push_back(w.migratable.pop());
  while (!w.compact.empty()) ready.push_back(w.compact.pop());
  while (!w.unstarted.empty()) ready.push_back(w.unstarted.pop());
  while (fiber* const task = w.tasks.steal()) ready.push_back(task);
  if (!helper_waits && !w.jobs.runs_dry()) {
    if (fiber* const helper = helpers::make(w)) {
      helper_waits = true;
      ready.push_back(helper);
    }
  }
}

fiber* controlled_scheduler::choose(worker& w) noexcept {
  asked_.clear();
  for (fiber* const f : ready) asked_.push_back(fiber::id_of(f));
  const bool goes_on = std::exchange(stopped, nullptr) != nullptr;
  const auto at = strategy.choose({asked_, goes_on});
  SHUNT_ASSERT(at < ready.size());
  fiber* const chosen = ready[at];
  ready.erase(ready.begin() + static_cast<std::ptrdiff_t>(at));
  now += std::chrono::microseconds(1);
  w.look_at_clock();
  return chosen;
}

}  // namespace detail
}  // namespace sched
}  // namespace v1
}  // namespace shunt
