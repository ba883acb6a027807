#include <shunt/sync/semaphore.hpp>

#include <string>

#include <shunt/base/error.hpp>

namespace shunt {
inline namespace v1 {
namespace sync {

semaphore::semaphore(std::ptrdiff_t permits, std::source_location where) : free_(permits) {
  const call_site call("semaphore", where);
  if (permits < 0)
    throw usage_error(error_number(404),
                      "semaphore: " + std::to_string(permits) + " permits; 0 or more are possible" + call.place(),
                      call.where());
}

bool semaphore::try_acquire() noexcept {
  sched::this_fiber::interleave();
  const std::lock_guard held(guard_);
  if (free_ == 0) return false;
  --free_;
  return true;
}

bool semaphore::acquire_slowly(std::chrono::steady_clock::time_point deadline, call_site call) {
  detail::require_wait(call);
  detail::waiting me;
  guard_.lock();
  if (free_ > 0) {
    --free_;
    guard_.unlock();
    return true;
  }
  waiting_.push_back(me);
  return detail::wait(waiting_, me, guard_, deadline, "a semaphore", call);
}

/// A permit that a waiter is given never becomes free: no newcomer can take it.
void semaphore::release(std::ptrdiff_t permits) noexcept {
  SHUNT_ASSERT(permits >= 0);
  detail::wait_queue given;
  guard_.lock();
  for (; permits > 0 && !waiting_.empty(); --permits) given.push_back(*waiting_.pop());
  free_ += permits;
  detail::waiting* const first = given.pop_all();
  guard_.unlock();
  detail::wake_all(first);
}

std::ptrdiff_t semaphore::available() noexcept {
  const std::lock_guard held(guard_);
  return free_;
}

}  // namespace sync
}  // namespace v1
}  // namespace shunt
