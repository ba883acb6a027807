/// What runs next on a worker: its queues of fibers, and the order in which they are served.
///
/// The order: the fiber that the last one woke (at most 16 times in a row while others are ready); unstarted fibers
/// that are pinned here (at most 64 in a row while others are ready); ready fibers, the migratable, the compact and the
/// others in turn, each first come first served. The worker's loop adds what comes from elsewhere: own tasks (newest
/// first), the inbox and the pollers, other workers' tasks (oldest first).
///
/// Owner only: the worker's thread.
#pragma once

#include <cstddef>

#include <shunt/sched/detail/fiber.hpp>
#include <shunt/sched/detail/worker_state.hpp>

namespace shunt {
inline namespace v1 {
namespace sched {
namespace detail {

class run_queues : public worker_state {
 public:
  /// A woken fiber: it runs soon. The running fiber's wake goes to run_next, the loop's in the order of arrival.
  void push_woken(fiber* f) noexcept {
    // A yield looks at run_next only where the running fiber has no slot.
    if (in_fiber() && run_next == nullptr && ready.current() == nullptr && !f->through_loop) [[likely]] {
      f->prefetch_frames(lines_of_a_wait);
      run_next = f;
    } else {
      push_woken_slowly(f);
    }
  }
  /// A fiber that is ready after all others.
  void push_ready(fiber* f) noexcept { f->through_loop ? of_loop(*f).push(f) : ready.push(f); }

  /// Whether a started fiber, or an unstarted one that is pinned here, is ready; run_next aside.
  [[nodiscard]] bool has_others() const noexcept { return !ready.empty() || loop_has_others(); }
  /// Whether one is ready that only the loop serves.
  [[nodiscard]] bool loop_has_others() const noexcept {
    return !unstarted.empty() || !migratable.empty() || !compact.empty();
  }
  [[nodiscard]] bool has_ready() const noexcept { return run_next != nullptr || has_others(); }
  /// One fiber at most is ready, apart from the one that runs.
  [[nodiscard]] bool at_most_one_ready() const noexcept {
    return run_next == nullptr && unstarted.empty() && ready.size() + migratable.size() + compact.size() <= 1;
  }

  /// Counts a turn that run_next would take. \return whether it may: it has not taken too many in a row.
  [[nodiscard]] bool may_run_next() noexcept {
    if (run_next_streak == run_next_in_a_row) return false;
    ++run_next_streak;
    return true;
  }
  /// The same, and it may always if nothing else is ready; the count begins again then.
  [[nodiscard]] bool may_run_next_or_alone() noexcept {
    if (may_run_next()) return true;
    if (has_others()) return false;
    run_next_streak = 1;
    return true;
  }

  /// Takes the fiber that runs next out of its queue. \return nullptr: none is ready.
  [[nodiscard]] fiber* pick() noexcept;

  fiber_list unstarted;  // pinned here
  // Started and ready; apart from `ready`, since each of their switches leads through the loop.
  fiber_list migratable;
  fiber_list compact;

 private:
  void push_woken_slowly(fiber* f) noexcept;
  [[nodiscard]] fiber* pop_compact() noexcept;
  [[nodiscard]] fiber_list& of_loop(const fiber& f) noexcept { return f.migrates ? migratable : compact; }

  /// A fiber that runs next has no time to fetch more ahead: these lines come at once instead of one after the other.
  /// With all of prefetch_frames() a chain of 1,000 fibers, whose stacks are near, took a quarter longer.
  static constexpr std::size_t lines_of_a_wait = 4;
  static constexpr int unstarted_in_a_row = 64;

  int turn_ = 0;                              // which of the kinds of ready fibers was served last
  int unstarted_first_ = unstarted_in_a_row;  // so many more run before the ready ones
};

}  // namespace detail
}  // namespace sched
}  // namespace v1
}  // namespace shunt
