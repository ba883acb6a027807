#include <shunt/sched/runtime.hpp>
#include <shunt/sched/waits_forbidden.hpp>
#include <shunt/stm/detail/engine/waiter.hpp>
#include <shunt/stm/detail/engine/word.hpp>

namespace shunt {
inline namespace v1 {
namespace stm::detail {

bool may_wait() noexcept { return sched::this_fiber::may_wait() || sched::this_worker::index() < 0; }

bool waiter::wait_until(time_point deadline, const char* what) {
  while (!woken()) {
    if (!test_wait(word())) return sched::waiter::wait_until(deadline, what, "atomically");
  }
  return true;
}

}  // namespace stm::detail
}  // namespace v1
}  // namespace shunt
