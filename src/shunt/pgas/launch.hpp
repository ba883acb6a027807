/// Starting a job.
#pragma once

#include <functional>

#include <shunt/pgas/options.hpp>
#include <shunt/pgas/pe.hpp>

namespace shunt {
inline namespace v1 {
namespace pgas {

/// Runs `program` once on every PE of the job and returns when all have ended.
///
/// PEs are fibers on pinned workers of this process and of those that a launcher (mpirun) started beside it. The
/// calling thread is one of the workers. One job at a time in a process.
///
/// In a program that test::explore() runs, the calling fiber waits, and the PEs are fibers of the explored run: its one
/// worker runs all of them, each message travels alone, and the strategy decides when a message is sent, when it is
/// handled and which PE goes on. `workers`, `spin` and `pin` have no meaning then.
/// \throws usage_error for options that cannot be, and in any other fiber; shunt::error when a PE's program or a
///         handler threw, here: the message names the PE, the handler and what was thrown. In a job of several
///         processes that message goes to standard error, and every process ends with status 1. checkpoint_stop when
///         a signal has ended the job, after a checkpoint (checkpoint.hpp).
void run(const options& wanted, const std::function<void(pe&)>& program);

/// The same as a whole main(): takes the options of a job (options.hpp) out of the command line, runs, reports.
/// \return 0; 1 after an error, 2 after a usage error, of which standard error has one line; 85 (status_of_stop) where
///         a signal has ended the job after a checkpoint.
int launch(int& argc, char** argv, const std::function<void(pe&)>& program);

/// Whether this process is one of several that a launcher started, before or after run().
[[nodiscard]] bool under_launcher();

}  // namespace pgas
}  // namespace v1
}  // namespace shunt
