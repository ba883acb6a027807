/// Signals as something that a fiber waits for.
///
/// ```cpp
/// int main() {
///   shunt::io::signals ends({SIGINT, SIGTERM});  // first of all: before run(), before other threads
///   shunt::sched::runtime workers;
///   shunt::io::reactor io(workers);
///   auto door = shunt::net::listen("127.0.0.1:0");  // outlives all fibers
///   workers.run([&] {
///     workers.spawn([&] { serve(door); });
///     ends.wait();
///     door.close();
///   });
/// }
/// ```
///
/// Rules
///   S1  A signal comes to a set only if every thread of the process holds it off (pthread_sigmask(3)):
///       else the system may give it to one that does not, and do what it does by default, often end
///       the process. The constructor makes its own thread hold the set's signals off, threads inherit
///       that from whoever starts them, and the constructor refuses if others are there that do not.
///   S2  They stay held off when the set is destroyed: letting them through would deliver what is
///       pending. pthread_sigmask(SIG_UNBLOCK) lets them through.
///   S3  The system keeps one of a kind: a signal that comes again before it is fetched is one signal.
///       Only SIGRTMIN..SIGRTMAX are counted.
///   S4  Where several sets, or fibers, wait for a signal, one of them gets it.
///   S5  Children made by io::spawn() begin with no signal held off; those of fork(2) inherit.
#pragma once

#include <initializer_list>
#include <string>
#include <system_error>

#include <sys/types.h>
#include <csignal>

#include <shunt/io/descriptor.hpp>
#include <shunt/io/limit.hpp>

namespace shunt {
inline namespace v1 {
namespace io {

/// "SIGTERM", "SIGRTMIN+2"; "signal 99" for what is none.
[[nodiscard]] std::string signal_name(int number);

/// A set of signals. Moves, does not copy.
class signals {
 public:
  struct arrival {
    int number = 0;    ///< which: SIGTERM
    pid_t sender = 0;  ///< the process that sent it; 0: the system (a terminal, a timer)
    int value = 0;     ///< what sigqueue(3) was given
  };

  /// Any thread; see S1 for when. For signals that are sent to the process: those that a thread brings
  /// upon itself (SIGSEGV) do not come to a set.
  /// \throws usage_error for an empty set, for no signal, for SIGKILL and SIGSTOP, and if a thread does
  ///         not hold them off, which it names; io::failure if the system has no descriptor left.
  /// Cost: reads /proc/self/task; a descriptor.
  explicit signals(std::initializer_list<int> set);

  /// A fiber: waits for one of them. Any number of fibers at a time.
  /// \throws io::failure: timed_out, cancelled, closed.
  arrival wait(const limit& how_long = {});
  arrival wait(std::error_code& bad, const limit& how_long = {});

  /// Any thread. Who waits fails with errc::closed; signals stay held off (S2).
  void close() noexcept { base_.close(); }
  [[nodiscard]] const descriptor& base() const noexcept { return base_; }

 private:
  descriptor base_;
  std::string names_;
};

}  // namespace io
}  // namespace v1
}  // namespace shunt
