/// A queue in which fibers and threads wait for their turn, first come first served; one has its turn at a time.
#pragma once

#include <mutex>
#include <shunt/stm/detail/sleeper.hpp>

namespace shunt {
inline namespace v1 {
namespace stm::detail {

/// Unlike a mutex it is handed on: nobody overtakes. Who leaves need not be on the thread that entered.
class lane {
 public:
  /// Who may sleep. \param what  for the report of what is stuck.
  void enter(const char* what) {
    waiting me;
    {
      const std::scoped_lock held(lock_);
      if (!taken_) {
        taken_ = true;
        return;
      }
      (first_ == nullptr ? first_ : last_->next) = &me;
      last_ = &me;
    }
    me.sleeps.sleep_until(time_point::max(), what);
  }
  void leave() noexcept {
    const std::scoped_lock held(lock_);
    waiting* const next = first_;
    if (next == nullptr) {
      taken_ = false;
      return;
    }
    first_ = next->next;
    next->sleeps.wake();  // stays taken, by that one
  }

 private:
  struct waiting {
    sleeper sleeps;
    waiting* next = nullptr;
  };
  std::mutex lock_;
  bool taken_ = false;
  waiting* first_ = nullptr;
  waiting* last_ = nullptr;  // meaningless while there is no first one
};

}  // namespace stm::detail
}  // namespace v1
}  // namespace shunt
