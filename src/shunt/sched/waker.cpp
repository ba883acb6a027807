#include <shunt/sched/waker.hpp>

#include <shunt/sched/detail/remote.hpp>
#include <shunt/sched/detail/worker.hpp>

namespace shunt {
inline namespace v1 {
namespace sched {

/// On the fiber's own worker the fiber goes into a queue there; from elsewhere it goes through the worker's inbox.
void waker::wake() const noexcept {
  if (fiber_ == nullptr) return;
  fiber_->prefetch_wait();  // beside the wait for `state`
  if (fiber_->state.wake() == detail::after_wake::nothing) return;
  detail::worker* const here = detail::current_worker();
  detail::remote* const home = fiber_->where();
  if (here != nullptr && &here->remote == home) {
    here->push_woken(fiber_);
  } else {
    if (here == nullptr) {
      home->woken_from_outside.store(true, std::memory_order_relaxed);  // relaxed: a hint for stuck_detector
    }
    home->send(fiber_);
  }
}

}  // namespace sched
}  // namespace v1
}  // namespace shunt
