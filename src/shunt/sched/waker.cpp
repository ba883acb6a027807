#include <shunt/sched/waker.hpp>

#include <shunt/sched/detail/remote.hpp>
#include <shunt/sched/detail/worker.hpp>

namespace shunt {
inline namespace v1 {
namespace sched {

/// On the fiber's own worker the fiber goes into a queue there; from elsewhere it goes through the worker's inbox.
void waker::wake() const noexcept {
  if (word_ == 0) return;
  detail::fiber* const f = fiber();
  f->prefetch_wait();  // beside the wait for `state`
  if ((word_ & compact) != 0) [[unlikely]]
    f->prefetch_aside();
  if (f->state.wake() == detail::after_wake::nothing) return;
  detail::worker* const here = detail::current_worker();
  detail::remote* const home = f->where();
  if (here != nullptr && &here->remote == home) {
    here->push_woken(f);
  } else {
    if (here == nullptr) {
      home->woken_from_outside.store(true, std::memory_order_relaxed);  // relaxed: a hint for stuck_detector
    }
    home->send(f);
  }
}

}  // namespace sched
}  // namespace v1
}  // namespace shunt
