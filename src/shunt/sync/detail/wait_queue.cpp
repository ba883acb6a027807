#include <shunt/sync/detail/wait_queue.hpp>

namespace shunt {
inline namespace v1 {
namespace sync {
namespace detail {

void wait_queue::push_back(waiting& me) noexcept {
  me.queued = true;
  me.next = nullptr;
  me.previous = last_;
  (last_ == nullptr ? first_ : last_->next) = &me;
  last_ = &me;
}

void wait_queue::push_front(waiting& me) noexcept {
  me.queued = true;
  me.previous = nullptr;
  me.next = first_;
  (first_ == nullptr ? last_ : first_->previous) = &me;
  first_ = &me;
}

waiting* wait_queue::pop() noexcept {
  waiting* const oldest = first_;
  static_cast<void>(remove(*oldest));
  return oldest;
}

waiting* wait_queue::pop_all() noexcept {
  waiting* const all = first_;
  for (waiting* each = all; each != nullptr; each = each->next) each->queued = false;
  first_ = last_ = nullptr;
  return all;
}

bool wait_queue::remove(waiting& me) noexcept {
  if (!me.queued) return false;
  me.queued = false;
  (me.previous == nullptr ? first_ : me.previous->next) = me.next;
  (me.next == nullptr ? last_ : me.next->previous) = me.previous;
  me.next = me.previous = nullptr;
  return true;
}

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
