#include <shunt/sync/detail/wait_queue.hpp>

#include <thread>

#include <shunt/base/clock.hpp>
#include <shunt/sched/runtime.hpp>

namespace shunt {
inline namespace v1 {
namespace sync {
namespace detail {

/// Reads the next entry before it wakes one: a woken entry is gone.
void wake_all(waiting* first) noexcept {
  while (first != nullptr) {
    waiting* const following = first->next;
    first->wake();
    first = following;
  }
}

void wait_for_wake(const sched::waiter& me) noexcept {
  constexpr int looks = 64;
  for (int look = 0; !me.woken(); ++look) {
    if (look < looks) {
      relax();
    } else {
      std::this_thread::yield();
    }
  }
}

/// A worker outside of its fibers (a handler that its poller runs) is refused as well: it would wait for all its
/// fibers.
void require_wait(call_site call) {
  if (sched::this_worker::index() < 0) return;
  sched::this_fiber::require_wait(call);
  sched::this_fiber::lend_frame(call);
}

}  // namespace detail
}  // namespace sync
}  // namespace v1
}  // namespace shunt
