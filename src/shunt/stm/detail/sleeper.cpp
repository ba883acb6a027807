#include <shunt/sched/runtime.hpp>
#include <shunt/sched/waits_forbidden.hpp>
#include <shunt/stm/detail/sleeper.hpp>
#include <shunt/stm/detail/word.hpp>

namespace shunt {
inline namespace v1 {
namespace stm::detail {

bool may_sleep() noexcept { return sched::this_fiber::may_wait() || sched::this_worker::index() < 0; }

sleeper::sleeper() {
  if (sched::this_fiber::inside()) fiber_ = sched::this_fiber::self();
}

bool sleeper::sleep_until(time_point deadline, const char* what) {
  while (!woken()) {
    if (test_sleep(word_)) continue;
    if (fiber_) {
      if (!sched::this_fiber::park_until(deadline, what)) return woken();
    } else if (deadline == time_point::max()) {
      sched::futex_wait(word_, 0);
    } else {
      const auto left = deadline - sched::now();
      if (left <= left.zero()) return woken();
      sched::futex_wait(word_, 0, left);
    }
  }
  return true;
}

}  // namespace stm::detail
}  // namespace v1
}  // namespace shunt
