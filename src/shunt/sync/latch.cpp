#include <shunt/sync/latch.hpp>

#include <mutex>
#include <string>

#include <shunt/base/call_site.hpp>
#include <shunt/base/error.hpp>

namespace shunt {
inline namespace v1 {
namespace sync {

latch::latch(std::ptrdiff_t count, std::source_location where) : count_(count) {
  const call_site call("latch", where);
  if (count < 0)
    throw usage_error(error_number(403),
                      "latch: a count of " + std::to_string(count) + "; 0 or more is possible" + call.place(),
                      call.where());
}

void latch::count_down(std::ptrdiff_t by) noexcept {
  sched::this_fiber::interleave();
  guard_.lock();
  SHUNT_ASSERT(by >= 0 && by <= count_);
  count_ -= by;
  detail::waiting* const first = count_ == 0 ? waiting_.pop_all() : nullptr;
  guard_.unlock();
  detail::wake_all(first);
}

void latch::arrive_and_wait(std::ptrdiff_t by, std::source_location where) {
  sched::this_fiber::interleave();
  detail::require_wait({"latch::arrive_and_wait", where});
  detail::waiting me;
  guard_.lock();
  SHUNT_ASSERT(by >= 0 && by <= count_);
  count_ -= by;
  if (count_ != 0) {
    waiting_.push_back(me);
    static_cast<void>(detail::wait(waiting_, me, guard_, detail::never, "a latch", "latch::arrive_and_wait"));
    return;
  }
  detail::waiting* const first = waiting_.pop_all();
  guard_.unlock();
  detail::wake_all(first);
}

bool latch::try_wait() noexcept {
  const std::lock_guard held(guard_);
  return count_ == 0;
}

bool latch::wait_until(std::chrono::steady_clock::time_point deadline, std::source_location where) {
  sched::this_fiber::interleave();
  if (try_wait()) return true;
  detail::require_wait({"latch::wait", where});
  detail::waiting me;
  guard_.lock();
  if (count_ == 0) {
    guard_.unlock();
    return true;
  }
  waiting_.push_back(me);
  return detail::wait(waiting_, me, guard_, deadline, "a latch", "latch::wait");
}

}  // namespace sync
}  // namespace v1
}  // namespace shunt
