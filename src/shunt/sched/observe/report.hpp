/// Why is a program stuck? Every fiber, what it waits for, and where.
///
/// ```text
/// runtime of 2 workers, 3 fibers, 0 of them not started
/// fiber 1 `root`, worker 0, parked for 3.2 s: waits for its tasks; stack 1 of 8192 KiB
///     shunt::sched::this_fiber::park(char const*)
///     shunt::task::detail::finish_scope::wait()
///     main::{lambda()#1}::operator()() const
/// fiber 3 `reader`, worker 1, parked for 3.2 s: waits for a future, of fiber 4; stack 1 of 256 KiB
/// ...
/// ```
///
/// The same is written to stderr when the process gets SIGUSR1 while a runtime runs. The library installs its action
/// for that signal before main(), and again when run() begins, if the signal has its default action then. A program's
/// own action stays, and so does SIG_IGN. From then on SIGUSR1 ends no program: where no runtime runs, a line says so.
#pragma once

#include <string>

namespace shunt {
inline namespace v1 {
namespace sched {

/// Any thread; a fiber too. The fibers of every runtime of this process that runs. Each worker writes down its own
/// fibers, all of one moment, the next time that it looks outside; meanwhile the fibers run on. A fiber that has kept
/// its worker for a tenth of a second is interrupted by a signal (SIGURG, whose action is ours for that moment; a
/// blocking system call of that fiber may then end early, with EINTR). A worker that answers neither, as its thread
/// does not run, is named. Functions have names as far as the program's files have symbol tables.
/// Cost: some microseconds a fiber. \throws std::bad_alloc
[[nodiscard]] std::string report_fibers();

}  // namespace sched
}  // namespace v1
}  // namespace shunt
