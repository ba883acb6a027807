/// A source of work outside the scheduler: an inbox of trains, a completion queue.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace shunt {
inline namespace v1 {
namespace sched {

/// It is attached to a worker, before run() or by one of the worker's fibers, which may also detach it. The worker's
/// loop calls every function, on the worker's thread and on the loop's own stack, never inside a fiber. So none may
/// park or yield. None may throw: an exception that leaves a poller ends the process. A poller keeps its error, and
/// hands it to the fibers that wait on it.
///
/// Going to sleep, and what each side must do:
///
///   worker                                   the thread that brings work
///   poll() -> false                          makes the work visible
///   arm() -> true, sleeps                    sees "armed": runtime::unpark(worker)
///   disarm(), once awake; then poll()
class poller {
 public:
  virtual ~poller() = default;

  /// Moves what can be moved, without waiting. Called whenever the worker has nothing to run, and every 64 switches
  /// otherwise. \return true if it did something.
  virtual bool poll() = 0;

  /// The worker is about to sleep. \return true: from now on a thread that brings work calls runtime::unpark(worker).
  /// false: work has come; the worker does not sleep, and polls.
  virtual bool arm() = 0;

  /// Called after every arm() that returned true, once the worker is awake.
  virtual void disarm() = 0;

  /// The longest sleep without a poll; nanoseconds::max(): until woken. Asked before each sleep.
  virtual std::chrono::nanoseconds patience() = 0;

  /// A descriptor that poll(2) finds readable while there is something to poll; -1: none. The worker sleeps on it as
  /// well, so an event that makes it readable needs no unpark(). At most one poller of a worker may have a descriptor.
  /// attach() asks for it; it stays the same from then on.
  [[nodiscard]] virtual int descriptor() const noexcept { return -1; }

  /// Where the worker sleeps, in memory that other processes map too: they wake it by leave_token() (base/futex.hpp)
  /// instead of runtime::unpark(); null: on a word of its own. A worker that also sleeps on a descriptor looks for such
  /// a token after an eighth of the time that nothing has moved, at the latest after a millisecond. attach() asks for
  /// it, before run(); it stays the same, and mapped as long as the process. At most one poller of a worker may have
  /// one.
  [[nodiscard]] virtual std::atomic<std::uint32_t>* shared_token() const noexcept { return nullptr; }

  /// Whether anything but this worker's own fibers can bring work: another thread, the kernel. False lets a run with a
  /// strategy tell that it is stuck. Asked when the worker has nothing to do.
  [[nodiscard]] virtual bool fed_from_outside() const noexcept { return true; }

  /// What this_worker::mark() returns, at the cost of a load, to fibers that want to know what their worker belongs to;
  /// 0: nothing. At most one poller of a worker may have a mark. attach() asks for it; it stays the same from then on.
  [[nodiscard]] virtual std::uint32_t mark() const noexcept { return 0; }
};

}  // namespace sched
}  // namespace v1
}  // namespace shunt
