/// Fibers of one worker that wait for the same thing.
///
/// One thread owns an event: the fibers that wait are pinned to the worker, and so are those that notify. A fiber
/// that is woken looks again: a notification says "something changed", never "it is yours".
#pragma once

#include <chrono>
#include <vector>

#include <shunt/sched.hpp>

namespace shunt {
inline namespace v1 {
namespace pgas {
namespace detail {

class event {
 public:
  /// Parks the calling fiber until it is notified. Spurious returns are allowed.
  /// \param what  for reports; static text. \param deadline  then it returns, too
  void wait(const char* what,
            std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max()) {
    sched::this_fiber::lend_frame(what);
    struct listed {
      explicit listed(event& at) : where(at) { where.waiting_.push_back({sched::this_fiber::self(), &told}); }
      ~listed() {
        // Woken by something else: a later notify_one() must not be spent on this fiber.
        if (!told) std::erase_if(where.waiting_, [this](const waiter& w) { return w.told == &told; });
      }
      listed(const listed&) = delete;
      listed& operator=(const listed&) = delete;
      event& where;
      bool told = false;
    } const me(*this);
    static_cast<void>(sched::this_fiber::park_until(deadline, what));
  }
  void notify_one() {
    if (waiting_.empty()) return;
    const auto first = waiting_.front();
    waiting_.erase(waiting_.begin());
    first.tell();
  }
  void notify_all() {
    for (const auto& w : waiting_) w.tell();
    waiting_.clear();
  }
  [[nodiscard]] bool any_waiting() const noexcept { return !waiting_.empty(); }

 private:
  struct waiter {
    sched::waker fiber;
    bool* told;  // on the waiter's stack
    void tell() const {
      *told = true;
      fiber.wake();
    }
  };
  std::vector<waiter> waiting_;
};

}  // namespace detail
}  // namespace pgas
}  // namespace v1
}  // namespace shunt
