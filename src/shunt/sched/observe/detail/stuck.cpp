#include <shunt/sched/observe/detail/stuck.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include <shunt/sched/detail/worker.hpp>
#include <shunt/sched/observe/detail/fiber_dump.hpp>
#include <shunt/sched/observe/detail/monitor.hpp>

namespace shunt {
inline namespace v1 {
namespace sched {
namespace detail {
namespace {

constexpr int status_if_stuck = 70;  // sysexits.h: EX_SOFTWARE

/// Destructors must not run: fibers refer to what they would destroy, and this may be any thread. A fiber may hold the
/// lock of stdout, and no fiber continues; then stdout is not flushed.
[[noreturn]] void end_process() noexcept {
  if (ftrylockfile(stdout) == 0) {
    static_cast<void>(std::fflush(stdout));
    funlockfile(stdout);
  }
  std::_Exit(status_if_stuck);
}

}  // namespace

/// The last worker to fall asleep looks after the time whether all of them still sleep; the others leave that to it.
void stuck_detector::sleep(worker& w, std::chrono::nanoseconds at_most) noexcept {
  const auto limit = all_.settings.stuck_after;
  // seq_cst, both: stuck_detector.T1. all_sleep() sees a worker that was woken, or that falls asleep anew.
  const auto turn = turn_.fetch_add(1, std::memory_order_seq_cst) + 1;
  const bool last = sleeping_.fetch_add(1, std::memory_order_seq_cst) + 1 == all_.settings.workers;
  if (!last || limit <= limit.zero() || at_most < limit) {
    w.remote.parker.park(at_most);
  } else {
    sleep_and_look(w, turn, at_most);
  }
  sleeping_.fetch_sub(1, std::memory_order_seq_cst);  // seq_cst: stuck_detector.T1; before the inbox is emptied
}

/// Looks ever more seldom. Returns when the worker was unparked, or has something to run.
void stuck_detector::sleep_and_look(worker& w, std::uint64_t turn, std::chrono::nanoseconds at_most) noexcept {
  constexpr std::chrono::nanoseconds longest = std::chrono::minutes(1);  // so rare a look costs an idle process nothing
  const auto limit = all_.settings.stuck_after;
  for (auto patience = limit;; patience = std::max(limit, std::min(2 * patience, longest))) {
    const auto end = std::chrono::steady_clock::now() + patience;
    w.remote.parker.park(patience);
    // The time may have ended just when another thread left a token: then the token is taken, and is not left again.
    if (!w.remote.inbox.is_armed() || std::chrono::steady_clock::now() < end) return;
    if (turn_.load(std::memory_order_relaxed) != turn) {  // relaxed: a hint, all_sleep() decides
      w.remote.parker.park(at_most);
      return;
    }
    if (!all_sleep(turn)) return;
    // One at a time: the dump wakes the others, of which the last one to fall asleep again comes here as well.
    // acquire: edge `telling` in.
    if (telling_.exchange(true, std::memory_order_acquire)) continue;
    tell(w, turn);
    telling_.store(false, std::memory_order_release);  // release: edge `telling` out: what has been told
    if (w.has_runnable() || !all_sleep(turn)) return;
  }
}

/// Whether all workers are in sleep(), and none has been woken; the last one of them fell asleep in this turn.
///
/// If it says so, then at the second look at `turn_` no worker runs, and none was about to. A worker that was woken has
/// something in its inbox until it has left sleep(), since it empties the inbox after that (stuck_detector.T2). So a
/// worker that was woken before the looks at the inboxes is seen there; or it had left, and `sleeping_` is too small;
/// or it has come back, and `turn_` has grown. Workers that still sleep wake none.
bool stuck_detector::all_sleep(std::uint64_t turn) const noexcept {
  const auto same = [&] {  // seq_cst: stuck_detector.T1, the order that the proof above is about
    return sleeping_.load(std::memory_order_seq_cst) == all_.settings.workers &&
           turn_.load(std::memory_order_seq_cst) == turn;
  };
  return same() &&
         std::all_of(all_.workers.begin(), all_.workers.end(),
                     [](const auto& w) { return w->remote.inbox.is_armed(); }) &&
         same() && !all_.stopping();
}

/// All workers sleep, and have done so for long. Reports it, once a run; ends the process if nothing can wake a fiber.
void stuck_detector::tell(const worker& w, std::uint64_t turn) noexcept {
  const bool woken_from_outside = std::any_of(all_.workers.begin(), all_.workers.end(), [](const auto& each) {
    return each->remote.woken_from_outside.load(std::memory_order_relaxed);  // relaxed: a hint
  });
  const bool for_ever = none_can_wake(all_);
  const bool ends = for_ever && all_.settings.end_if_stuck;
  // relaxed, here and below: one worker at a time decides (telling_)
  if ((woken_from_outside || told_.load(std::memory_order_relaxed)) && !for_ever) return;
  // Another thread may have woken a fiber, and ended, before none_can_wake() looked.
  if (!all_sleep(turn)) return;
  if (!told_.exchange(true, std::memory_order_relaxed)) {
    try {
      all_.report(
          (for_ever
               ? "shunt: no fiber can run, and nothing in this process can wake one: there is no other thread, timer, "
                 "poller or signal handler. "
               : "shunt: no fiber can run, and none will unless another thread wakes it. ") +
          all_.start_failures() + fibers_of(all_));
    } catch (...) {  // no memory for the text: then none is written
    }
  }
  // The report may have been given to code that wakes a fiber, on this worker or on another one.
  if (!ends || w.has_runnable() || !all_sleep(turn)) return;
  all_.report("shunt: so the process ends, with status 70 (options::end_if_stuck, SHUNT_END_IF_STUCK=0: it waits)\n");
  end_process();
}

}  // namespace detail
}  // namespace sched
}  // namespace v1
}  // namespace shunt
