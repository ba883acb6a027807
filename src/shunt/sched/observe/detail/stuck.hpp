/// Finds a run that cannot continue: all workers sleep, without a poller or a deadline that would bring them work.
///
/// Invariants
///   stuck_detector.T1  Three things are sequentially consistent, hence in one order: the changes of `sleeping_` and
///                      `turn_`, the arming of an inbox, and the looks of all_sleep() at all of these.
///   stuck_detector.T2  A worker that was woken has something in its inbox until it has left sleep().
///
/// Edge `telling`, a worker that has told -> the next one that tells: `told_`, and all that the report has done.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace shunt {
inline namespace v1 {
namespace sched {
namespace detail {

class shared;
class worker;

class stuck_detector {
 public:
  explicit stuck_detector(shared& of) noexcept : all_(of) {}

  /// Before the workers work.
  void begin_run() noexcept { told_.store(false, std::memory_order_relaxed); }  // relaxed: no worker runs yet

  /// A worker that has nothing to do, and no poller or deadline that will bring it work; in its last step before sleep.
  /// Sleeps for `at_most`, or until it is unparked. If all workers sleep here for options::stuck_after, it reports
  /// that; if they will for ever, it may end the process (options::end_if_stuck).
  void sleep(worker& w, std::chrono::nanoseconds at_most) noexcept;

 private:
  [[nodiscard]] bool all_sleep(std::uint64_t turn) const noexcept;
  void sleep_and_look(worker& w, std::uint64_t turn, std::chrono::nanoseconds at_most) noexcept;
  void tell(const worker& w, std::uint64_t turn) noexcept;

  shared& all_;
  std::atomic<int> sleeping_{0};        // workers in sleep()
  std::atomic<std::uint64_t> turn_{0};  // calls of sleep() that have begun
  std::atomic<bool> telling_{false};    // edge `telling`
  std::atomic<bool> told_{false};       // in this run
};

}  // namespace detail
}  // namespace sched
}  // namespace v1
}  // namespace shunt
