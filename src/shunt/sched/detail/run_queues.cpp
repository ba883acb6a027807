#include <shunt/sched/detail/run_queues.hpp>

#include <utility>

namespace shunt {
inline namespace v1 {
namespace sched {
namespace detail {

void run_queues::push_woken_slowly(fiber* f) noexcept {
  if (f->through_loop) {
    if (f->compact && compact.empty()) f->prefetch_aside();  // pop_compact() does it for the others
    of_loop(*f).push(f);
  } else if (in_fiber()) {
    f->prefetch_frames(lines_of_a_wait);
    ready.leave_slot();
    if (run_next != nullptr) ready.push(run_next);
    run_next = f;
  } else {
    if (ready.size() < 2) f->prefetch_frames();  // pop_after_park() prefetches those of the others
    ready.push(f);
  }
}

/// Fetches what the next one and the one after it need.
fiber* run_queues::pop_compact() noexcept {
  fiber* const f = compact.pop();
  if (const fiber* const next = compact.front()) {
    if (next->link != nullptr) next->link->prefetch();
    next->prefetch_aside();
  }
  return f;
}

/// run_next first, then the unstarted fibers, then the migratable, the compact and the other ready ones in turn; each
/// of the first two at most so many times in a row.
fiber* run_queues::pick() noexcept {
  if (run_next != nullptr) {
    if (may_run_next_or_alone()) return std::exchange(run_next, nullptr);
    ready.push(std::exchange(run_next, nullptr));
  }
  run_next_streak = 0;
  const bool any_ready = !ready.empty() || !migratable.empty() || !compact.empty();
  if (!unstarted.empty() && (!any_ready || unstarted_first_ > 0)) {
    --unstarted_first_;
    return unstarted.pop();
  }
  unstarted_first_ = unstarted_in_a_row;
  if (!any_ready) return nullptr;
  for (;;) {
    turn_ = (turn_ + 1) % 3;
    if (turn_ == 0 && !ready.empty()) return ready.pop();
    if (turn_ == 1 && !migratable.empty()) return migratable.pop();
    if (turn_ == 2 && !compact.empty()) return pop_compact();
  }
}

}  // namespace detail
}  // namespace sched
}  // namespace v1
}  // namespace shunt
