/// A source of work outside the scheduler: an inbox of trains, a completion queue.
#pragma once

#include <chrono>
#include <cstdint>

namespace shunt {
inline namespace v1 {
namespace sched {

/// Attached to a worker, before run() or by one of its fibers. Every function is called on that worker's thread, by its
/// loop, on the loop's own stack, never inside a fiber; so none may park or yield. None may throw:
/// an exception that leaves a poller ends the process. A poller keeps its error, and hands it to
/// the fibers that wait on it.
///
/// Going to sleep, and what each side then owes:
///
///   worker                                   whoever brings work
///   poll() -> false                          makes the work visible
///   arm() -> true, sleeps                    sees "armed": runtime::unpark(worker)
///   disarm(), once awake; then poll()
class poller {
 public:
  virtual ~poller() = default;

  /// Moves what can be moved, without waiting. Called whenever the worker has nothing runnable,
  /// and every 64 switches otherwise. \return true if it did something.
  virtual bool poll() = 0;

  /// The worker is about to sleep. \return true: from now on whoever brings work calls
  /// runtime::unpark(worker). false: work has come; the worker does not sleep, and polls.
  virtual bool arm() = 0;

  /// After every arm() that returned true, once the worker is awake.
  virtual void disarm() = 0;

  /// The longest sleep without a poll; nanoseconds::max(): until woken. Asked before each sleep.
  virtual std::chrono::nanoseconds patience() = 0;

  /// A descriptor that poll(2) finds readable while there is something to poll; -1: none. A worker
  /// whose poller has one sleeps on it as well, so what makes it readable need not call unpark().
  /// One poller of a worker may have one. Asked by attach(), and the same from then on.
  [[nodiscard]] virtual int descriptor() const noexcept { return -1; }

  /// What this_worker::mark() tells, at the cost of a load, to fibers that want to know whose worker they are on; 0:
  /// nothing. One poller of a worker may have one. Asked by attach(), and the same from then on.
  [[nodiscard]] virtual std::uint32_t mark() const noexcept { return 0; }
};

}  // namespace sched
}  // namespace v1
}  // namespace shunt
