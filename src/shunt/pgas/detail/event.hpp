/// Fibers of one dock that wait for the same thing.
///
/// One thread owns an event: the fibers that wait are pinned to the dock's worker, and so is who notifies. A fiber
/// that is woken looks again: a notification says "something changed", never "it is yours".
#pragma once

#include <vector>

#include <shunt/sched.hpp>

namespace shunt {
inline namespace v1 {
namespace pgas {
namespace detail {

class event {
 public:
  /// Parks the calling fiber until somebody notifies. Spurious returns are allowed.
  void wait() {
    waiting_.push_back(sched::this_fiber::self());
    sched::this_fiber::park();
  }
  void notify_one() {
    if (waiting_.empty()) return;
    const auto first = waiting_.front();
    waiting_.erase(waiting_.begin());
    first.wake();
  }
  void notify_all() {
    for (const auto& w : waiting_) w.wake();
    waiting_.clear();
  }
  [[nodiscard]] bool anybody() const noexcept { return !waiting_.empty(); }

 private:
  std::vector<sched::waker> waiting_;
};

}  // namespace detail
}  // namespace pgas
}  // namespace v1
}  // namespace shunt
