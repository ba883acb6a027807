#include <shunt/sched/detail/idle.hpp>

#include <algorithm>
#include <chrono>

#include <sched.h>

#include <shunt/base/clock.hpp>
#include <shunt/sched/detail/worker.hpp>
#include <shunt/sched/jobs/detail/helpers.hpp>
#include <shunt/sched/observe/detail/monitor.hpp>
#include <shunt/sched/observe/detail/stuck.hpp>

namespace shunt {
inline namespace v1 {
namespace sched {
namespace detail {
namespace {

using std::chrono::nanoseconds;

// An idle worker gives the memory of idle stacks back in steps: some 64, then it sleeps again.
constexpr nanoseconds between_trims{10'000'000};
constexpr int idle_yields = 8;  // sched_yields before sleeping, if there are more workers than CPUs

/// How long the worker may sleep: until its pollers lose patience, or its first deadline.
nanoseconds longest_sleep(worker& w) noexcept {
  auto patience = w.outside == nullptr ? nanoseconds::max() : w.outside->patience();
  if (!w.deadlines.empty()) {
    const auto until_first = w.deadlines.first() - std::chrono::steady_clock::now();
    patience = std::clamp<nanoseconds>(until_first, nanoseconds(0), patience);
  }
  return patience;
}

}  // namespace

std::size_t idle::next_victim(std::size_t count) noexcept {
  victim_ = victim_ * 6364136223846793005U + 1442695040888963407U;  // Knuth's MMIX
  return static_cast<std::size_t>(victim_ >> 33) % count;
}

bool idle::find_work(worker& w) noexcept {
  w.begin_idle_round();
  return w.look_outside() || steal_one(w) || helpers::start(w);
}

/// Takes the oldest task of the first other worker that has one, in a round that begins at a random worker.
bool idle::steal_one(worker& w) noexcept {
  const auto count = w.all.workers.size();
  if (count == 1) return false;
  const auto first = next_victim(count);
  for (std::size_t i = 0; i < count; ++i) {
    worker& victim = *w.all.workers[(first + i) % count];
    if (&victim == &w || victim.tasks.looks_empty()) continue;
    if (fiber* const f = victim.tasks.steal()) {
      w.unstarted.push(f);
      return true;
    }
  }
  return false;
}

/// With more workers than CPUs it offers its CPU to others instead, a few times.
bool idle::spin(worker& w) noexcept {
  if (last_fiber_rests || w.all.stopping()) return false;
  if (w.all.oversubscribed) {
    for (int i = 0; i < idle_yields; ++i) {
      sched_yield();
      if (find_work(w)) return true;
    }
    return false;
  }
  if (w.all.settings.spin <= nanoseconds::zero()) return false;
  constexpr int pauses_per_look = 16;
  const auto end = std::chrono::steady_clock::now() + w.all.settings.spin;
  do {
    for (int i = 0; i < pauses_per_look && !w.remote.inbox.has_anything(); ++i) relax();
    if (find_work(w)) return true;
    if (w.all.stopping()) return false;
  } while (std::chrono::steady_clock::now() < end);
  return false;
}

void idle::wake_up(worker& w) noexcept {
  w.published.wake_up();
  tell_monitor();
}

/// Announces the sleep first, then looks once more at everything that may have come before the announcement: a push
/// that did not see the announcement is seen here. DESIGN.md, "No worker sleeps on work", says why in this order.
void idle::sleep(worker& w) noexcept {
  const bool stacks_to_trim = w.starter.trim();
  if (w.remote.inbox.arm() == after_arm::stay) return;
  w.all.asleep.enter(w.index);
  bool work = w.all.stopping();
  for (const auto& other : w.all.workers) work = work || !other->tasks.looks_empty();
  work = work || helpers::ask_for_jobs(w);
  if (!work && (w.outside == nullptr || w.outside->arm())) {
    auto patience = longest_sleep(w);
    const int also = w.outside == nullptr ? -1 : w.outside->descriptor();
    if (stacks_to_trim) patience = std::min(patience, between_trims);
    w.published.fall_asleep();
    if (w.outside == nullptr && w.deadlines.empty()) {
      w.all.stuck.sleep(w, patience);
    } else if (also < 0) {
      w.remote.parker.park(patience);
    } else {
      w.remote.parker.park_on(also, patience);
    }
    wake_up(w);
    if (w.outside != nullptr) w.outside->disarm();
    w.look_at_clock();
  }
  w.all.asleep.leave(w.index);
  // The worker is no longer asleep, even if no other thread has said so; what came is taken in the same exchange.
  w.drain();
}

}  // namespace detail
}  // namespace sched
}  // namespace v1
}  // namespace shunt
