#include <shunt/sync/barrier.hpp>

#include <string>
#include <utility>

#include <shunt/base/call_site.hpp>
#include <shunt/base/error.hpp>

namespace shunt {
inline namespace v1 {
namespace sync {

barrier::barrier(std::ptrdiff_t members, std::function<void()> completion, std::source_location where)
    : members_(members), completion_(std::move(completion)) {
  const call_site call("barrier", where);
  if (members < 1) {
    throw usage_error(error_number(401),
                      "barrier: " + std::to_string(members) + " members; 1 or more are possible" + call.place(),
                      call.where());
  }
}

void barrier::arrive_and_wait(std::source_location where) {
  sched::this_fiber::interleave();
  detail::require_wait({"barrier::arrive_and_wait", where});
  detail::waiting me;
  guard_.lock();
  if (arrived_ + 1 >= members_) {
    end_phase();
    return;
  }
  ++arrived_;
  waiting_.push_back(me);
  static_cast<void>(detail::wait(waiting_, me, guard_, detail::never, "a barrier", "barrier::arrive_and_wait"));
}

void barrier::arrive_and_drop() noexcept {
  guard_.lock();
  --members_;
  if (arrived_ >= members_) {
    end_phase();
  } else {
    guard_.unlock();
  }
}

/// Under guard_, which it unlocks. All others wait, so nothing changes while completion_ runs without the lock.
void barrier::end_phase() noexcept {
  arrived_ = 0;
  detail::waiting* const first = waiting_.pop_all();
  guard_.unlock();
  if (completion_) completion_();
  detail::wake_all(first);
}

}  // namespace sync
}  // namespace v1
}  // namespace shunt
