#include <shunt/sync/detail/sleep.hpp>

#include <shunt/sched.hpp>

namespace shunt {
inline namespace v1 {
namespace sync {

void detail::require_sleep(call_site call) {
  if (sched::this_worker::index() >= 0) sched::this_fiber::require_wait(call);
}

/// A fiber whose wait only the time ends lends no frame, so it may be a compact one.
bool detail::sleep(std::chrono::steady_clock::time_point time, const std::stop_token& stop, const char* what,
                   call_site call) {
  require_sleep(call);
  if (sched::this_fiber::inside() && !stop.stop_possible()) {
    while (sched::now() < time) static_cast<void>(sched::this_fiber::park_until(time, what));
    return true;
  }
  sched::waiter me;
  const std::stop_callback on_stop(stop, [&me] { me.wake(); });
  return !me.wait_until(time, what, call);
}

}  // namespace sync
}  // namespace v1
}  // namespace shunt
