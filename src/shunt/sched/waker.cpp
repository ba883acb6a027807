#include <shunt/sched/waker.hpp>

#include <shunt/sched/detail/remote.hpp>
#include <shunt/sched/detail/worker.hpp>

namespace shunt {
inline namespace v1 {
namespace sched {

namespace {

/// A thread that is no worker wakes a fiber there, and may do so again.
void note_caller(const detail::worker* here, detail::remote& home) noexcept {
  if (here == nullptr)
    home.woken_from_outside.store(true, std::memory_order_relaxed);  // relaxed: stuck_detector's hint
}

/// Its state word decides which thread enqueues it, and says so to one.
void wake_migrating(detail::fiber* f) noexcept {
  if (f->state.wake() == detail::after_wake::nothing) return;
  detail::worker* const here = detail::current_worker();
  detail::remote* const home = f->where();
  if (here != nullptr && &here->remote == home) return here->push_woken(f);
  note_caller(here, *home);
  home->send(f);
}

}  // namespace

/// On the fiber's own worker the fiber goes into a queue there; from elsewhere the wake goes through that worker's
/// inbox.
void waker::wake() const noexcept {
  if (word_ == 0) return;
  detail::fiber* const f = fiber();
  if ((word_ & (compact | migrates)) != 0) [[unlikely]] {
    if ((word_ & migrates) != 0) return wake_migrating(f);
    f->prefetch_aside();
  }
  detail::worker_state& d = detail::here();
  detail::remote* const home = f->where();
  if (&d != &detail::no_worker && &static_cast<detail::worker&>(d).remote == home) [[likely]] {
    if (f->state.wake_at_home() == detail::after_wake::enqueue) static_cast<detail::worker&>(d).push_woken(f);
    return;
  }
  detail::worker* const here = detail::current_worker();
  if (home != nullptr) note_caller(here, *home);
  detail::post_wake(*f);
}

}  // namespace sched
}  // namespace v1
}  // namespace shunt
