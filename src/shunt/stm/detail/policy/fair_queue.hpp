/// A queue in which fibers and threads wait for their turn, first come, first served; one has its turn at a time.
#pragma once

#include <mutex>
#include <shunt/stm/detail/engine/waiter.hpp>

namespace shunt {
inline namespace v1 {
namespace stm::detail {

/// Unlike a mutex it is handed to the next in the queue: a newcomer never overtakes. The fiber that leaves may have
/// moved to another thread since it entered.
class fair_queue {
 public:
  /// A caller that may wait. \param what  for the report of fibers that wait.
  void enter(const char* what) {
    queued me;
    {
      const std::scoped_lock held(lock_);
      if (!taken_) {
        taken_ = true;
        return;
      }
      (first_ == nullptr ? first_ : last_->next) = &me;
      last_ = &me;
    }
    me.wait.wait_until(time_point::max(), what);
  }
  void leave() noexcept {
    const std::scoped_lock held(lock_);
    queued* const next = first_;
    if (next == nullptr) {
      taken_ = false;
      return;
    }
    first_ = next->next;
    next->wait.wake();  // the turn stays taken, by that fiber
  }

 private:
  struct queued {
    waiter wait;
    queued* next = nullptr;
  };
  std::mutex lock_;
  bool taken_ = false;
  queued* first_ = nullptr;
  queued* last_ = nullptr;  // meaningless while there is no first one
};

}  // namespace stm::detail
}  // namespace v1
}  // namespace shunt
