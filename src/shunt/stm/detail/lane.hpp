/// Queues in which fibers and threads wait for their turn.
#pragma once

#include <chrono>
#include <mutex>
#include <shunt/stm/detail/sleeper.hpp>
#include <utility>

namespace shunt {
inline namespace v1 {
namespace stm::detail {

/// First come, first served; one has its turn at a time. Unlike a mutex it is handed on: nobody overtakes. Who leaves
/// need not be on the thread that entered.
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

/// One goes first; the others wait until it has left, or for a while. It is not handed on: who is woken waits for its
/// worker yet, behind other fibers, and all that stood behind it would wait for that. So whoever runs when it is free
/// takes it, and who finds it taken after its wait goes on without it.
class loss_lane {
 public:
  /// Who may sleep. \return whether the caller goes first: then it leaves when it has committed, and does not wait for
  /// anything until then. \throws std::bad_alloc, for the deadline
  [[nodiscard]] bool enter(const char* what) {
    waiting me;
    {
      const std::scoped_lock held(lock_);
      if (!std::exchange(taken_, true)) return true;
      waiting** last = &first_;
      while (*last != nullptr) last = &(*last)->next;
      *last = &me;
    }
    try {
      me.sleeps.sleep_until(sched::after(wait_at_most), what);
    } catch (...) {
      const std::scoped_lock held(lock_);
      take_out(me);
      throw;
    }
    const std::scoped_lock held(lock_);
    take_out(me);
    return !std::exchange(taken_, true);
  }
  void leave() noexcept {
    const std::scoped_lock held(lock_);
    taken_ = false;
    if (first_ == nullptr) return;
    waiting* const next = first_;
    first_ = next->next;
    next->sleeps.wake();
  }

 private:
  /// Several commits of somebody who has a CPU.
  static constexpr std::chrono::nanoseconds wait_at_most{200'000};
  struct waiting {
    sleeper sleeps;
    waiting* next = nullptr;
  };
  /// Unless leave() has done so.
  void take_out(const waiting& me) noexcept {
    for (waiting** at = &first_; *at != nullptr; at = &(*at)->next) {
      if (*at != &me) continue;
      *at = me.next;
      return;
    }
  }
  std::mutex lock_;
  bool taken_ = false;
  waiting* first_ = nullptr;
};

}  // namespace stm::detail
}  // namespace v1
}  // namespace shunt
