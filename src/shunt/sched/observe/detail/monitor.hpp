/// The thread of the process that answers SIGUSR1, and finds stalled fibers and late stops, while any runtime runs.
#pragma once

#include <atomic>

namespace shunt {
inline namespace v1 {
namespace sched {
namespace detail {

class shared;

/// While one lives, `of` is among the runtimes that are reported. One for each run().
class monitored_run {
 public:
  explicit monitored_run(shared& of) noexcept;
  ~monitored_run();
  monitored_run(const monitored_run&) = delete;
  monitored_run& operator=(const monitored_run&) = delete;

 private:
  shared* of_;  // null: no memory to register it
};

/// Any thread. What the monitor looks at has changed.
void notify_monitor() noexcept;

/// The monitor's thread looks at no worker while all of them sleep: the first worker that wakes up notifies it.
extern constinit std::atomic<bool> monitor_dozes;
void wake_monitor() noexcept;
/// A worker, after it has said that it is awake (published::wake_up()). Edge `up`.
inline void tell_monitor() noexcept {
  if (monitor_dozes.load(std::memory_order_seq_cst)) [[unlikely]]  // edge `up`, see doze_if_all_sleep()
    wake_monitor();
}

/// Any thread. Whether no code can run in this process but that of these workers: see options::end_if_stuck.
[[nodiscard]] bool none_can_wake(shared& of) noexcept;

}  // namespace detail
}  // namespace sched
}  // namespace v1
}  // namespace shunt
