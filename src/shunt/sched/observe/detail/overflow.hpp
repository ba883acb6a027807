/// Names the fiber that ran off its stack, before the process dies of it.
///
/// The access to the gap below the stack raises SIGSEGV, and the fiber's own stack has no room for its handler: so each
/// worker's thread has a stack for signals. The handler writes one line to stderr if the address lies in the gap below
/// the running fiber's stack, or further down in a frame of it. In any case it puts the former action back and returns:
/// the access is repeated, and ends as it would have without us (a core shows the fiber's frames).
///
/// Installed while a runtime runs, and only where SIGSEGV has the default action: programs with a handler of their own,
/// sanitizers among them, keep it.
#pragma once

#include <memory>

#include <signal.h>

namespace shunt {
inline namespace v1 {
namespace sched {
namespace detail {

/// While one lives, overflows are reported. One for each run().
class overflow_reporter {
 public:
  overflow_reporter() noexcept;
  ~overflow_reporter();
  overflow_reporter(const overflow_reporter&) = delete;
  overflow_reporter& operator=(const overflow_reporter&) = delete;
};

/// The stack for signals of one worker's thread, while it works. Does nothing on a thread that has one.
class signal_stack {
 public:
  signal_stack() noexcept;
  ~signal_stack();
  signal_stack(const signal_stack&) = delete;
  signal_stack& operator=(const signal_stack&) = delete;

 private:
  std::unique_ptr<char[]> memory_;
};

}  // namespace detail
}  // namespace sched
}  // namespace v1
}  // namespace shunt
