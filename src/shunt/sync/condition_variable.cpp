#include <shunt/sync/condition_variable.hpp>

#include <utility>

namespace shunt {
inline namespace v1 {
namespace sync {

void condition_variable::queue(detail::waiting& me) noexcept {
  const std::lock_guard held(guard_);
  waiting_.push_back(me);
}

/// A notification that has taken the entry out already goes to the next waiter instead.
void condition_variable::take_back(detail::waiting& me) noexcept {
  guard_.lock();
  const bool removed = waiting_.remove(me);
  guard_.unlock();
  if (removed) return;
  detail::wait_for_wake(me);
  notify_one();
}

void condition_variable::wake(bool all) noexcept {
  guard_.lock();
  detail::waiting* const first = all ? waiting_.pop_all() : waiting_.empty() ? nullptr : waiting_.pop();
  guard_.unlock();
  detail::wake_all(first);
}

}  // namespace sync
}  // namespace v1
}  // namespace shunt
