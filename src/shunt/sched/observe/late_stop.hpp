/// Fibers that were asked to stop, and do not end.
#pragma once

#include <chrono>

#include <shunt/base/call_site.hpp>
#include <shunt/sched/waker.hpp>

namespace shunt {
inline namespace v1 {
namespace sched {
namespace detail {
class late_stops;
class shared;
}  // namespace detail

/// While one lives, the running fiber waits for fibers that it has asked to stop. If that lasts for
/// options::stop_after, options::report gets these fibers, once: where they are, and what they wait for. For functions
/// that ask fibers to stop, and must wait for them: a wait that takes no stop token goes on, and nothing else would
/// tell why the function does not return.
///
/// Cost: two locks. A system call if that time is shorter than half of options::stall_after or blocked_after, whichever
/// is less and not 0; always where both are 0.
class late_stop {
 public:
  /// A fiber; elsewhere it does nothing. \param call  whose fibers they are, and the line that is known of them, for
  /// the report. \param scope  those of which this_fiber::scope() is this; null: none. \param other  this one too.
  explicit late_stop(call_site call, const void* scope, fiber_id other = {}) noexcept;
  ~late_stop();
  late_stop(const late_stop&) = delete;
  late_stop& operator=(const late_stop&) = delete;

 private:
  friend class detail::late_stops;

  const call_site call_;
  const void* const scope_;
  const fiber_id other_;
  fiber_id waits_;                              // the fiber that waits
  std::chrono::steady_clock::time_point when_;  // the report's time; max(): never, or there was one
  detail::shared* of_ = nullptr;                // null: it is not in a list
  late_stop* next_ = nullptr;
  late_stop* previous_ = nullptr;
};

}  // namespace sched
}  // namespace v1
}  // namespace shunt
