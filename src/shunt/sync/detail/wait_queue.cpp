#include <shunt/sync/detail/wait_queue.hpp>

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

void require_wait(const char* call) {
  if (!sched::this_fiber::inside()) return;
  sched::this_fiber::require_wait(call);
  sched::this_fiber::lend_frame(call);
}

}  // namespace detail
}  // namespace sync
}  // namespace v1
}  // namespace shunt
