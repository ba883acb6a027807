/// Signals as something that a fiber waits for.
///
/// ```cpp
/// int main() {
///   shunt::io::signals ends({SIGINT, SIGTERM});  // before run(), and before other threads
///   shunt::sched::runtime workers;
///   shunt::io::reactor io(workers);
///   auto door = shunt::io::listen("127.0.0.1:0");  // outlives all fibers
///   workers.run([&] {
///     workers.spawn([&] { serve(door); });
///     ends.wait();
///     door.close();
///   });
/// }
/// ```
///
/// Rules
///   signals.S1  A signal reaches a set only if every thread of the process blocks it (pthread_sigmask(3)). Otherwise
///               the system may deliver it to a thread that does not, with its default action, which often ends the
///               process. The constructor makes its own thread block the set's signals, and a thread inherits that from
///               the thread that starts it. The constructor throws if another thread does not block them.
///   signals.S2  They stay blocked when the set is destroyed: to unblock them would deliver those that are pending.
///               pthread_sigmask(SIG_UNBLOCK) unblocks them.
///   signals.S3  The system keeps one signal of a kind: two that come before a fiber fetches the first are one. Only
///               SIGRTMIN..SIGRTMAX are counted.
///   signals.S4  Where several sets, or fibers, wait for a signal, one of them gets it.
///   signals.S5  Children that io::spawn() starts block no signal; those of fork(2) inherit.
#pragma once

#include <initializer_list>
#include <source_location>
#include <string>
#include <system_error>

#include <sys/types.h>
#include <csignal>

#include <shunt/io/deadline.hpp>
#include <shunt/io/descriptor.hpp>

namespace shunt {
inline namespace v1 {
namespace io {

/// "SIGTERM", "SIGRTMIN+2"; "signal 99" for a number that is no signal.
[[nodiscard]] std::string signal_name(int number);

/// A set of signals. Moves, does not copy.
class signals {
 public:
  /// A signal that has come, and what the system says of it.
  struct arrival {
    int number = 0;    ///< SIGTERM
    pid_t sender = 0;  ///< the process that sent it; 0: the system (a terminal, a timer)
    int value = 0;     ///< the value given to sigqueue(3)
  };

  /// Any thread; signals.S1 says when. For signals that are sent to the process: those that a thread causes itself
  /// (SIGSEGV) do not reach a set.
  /// \throws usage_error for an empty set, for a number that is no signal, for SIGKILL and SIGSTOP, and if a thread,
  ///         which it names, does not block them; io_error if the system has no descriptor left.
  /// Cost: reads /proc/self/task; a descriptor.
  explicit signals(std::initializer_list<int> set, std::source_location where = std::source_location::current());

  /// A fiber: waits for one of them. Any number of fibers at a time.
  /// \throws io_error: timed_out, cancelled, closed.
  arrival wait(const deadline& until = {});
  /// Sets `ec` instead of throwing io_error. \return with an error: number 0.
  arrival wait(std::error_code& ec, const deadline& until = {});

  /// Any thread. Each wait() fails with errc::closed; the signals stay blocked (signals.S2).
  void close() noexcept { base_.close(); }
  /// The signalfd(2) behind the set. Only wait() reads from it.
  [[nodiscard]] const descriptor& base() const noexcept { return base_; }

 private:
  descriptor base_;
  std::string names_;
};

}  // namespace io
}  // namespace v1
}  // namespace shunt
