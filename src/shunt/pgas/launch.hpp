/// Starting a job.
#pragma once

#include <functional>
#include <string>

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
///         processes that message goes to standard error, and every process ends with status 1. What another rank has
///         found wrong with the start of the job, with its number: a usage_error or shunt::error, as it is there.
///         checkpoint_stop when a signal has ended the job, after a checkpoint (checkpoint.hpp); in a job of several
///         processes its text goes to standard error, once.
void run(const options& wanted, const std::function<void(pe&)>& program);

/// The same as a whole main(): takes the options of a job (options.hpp) out of the command line, runs, reports.
/// \return 0; 1 after an error, 2 after a usage error, of which standard error has one line, as report_failure() prints
///         it; 85 (status_of_stop) where a signal has ended the job after a checkpoint.
int launch(int& argc, char** argv, const std::function<void(pe&)>& program);

/// For main(), which ends after it: prints why the program cannot go on, as one line on standard error.
///
/// In a job of several processes, what is wrong with its start (an option, a file) is printed once: by the lowest rank
/// that has found it, with its number unless all have. All ranks end with one status, that of the lowest rank that has
/// failed. For that the ranks tell each other: a rank that has failed before run() opens the transport, and run() on
/// the other ranks learns of it and throws. Where that cannot be, since there is no transport or the others do not come
/// to run() within 10 s, each rank that has failed prints the line, rank 0 first.
/// \param before  in front of the line
/// \param what    on one line; the ranks compare it
/// \param status  1..9; any, after run() has begun
/// \param argc    of the command line, which may name the transport
/// \param argv    likewise
/// \return the status with which to end
int report_failure(const std::string& before, const std::string& what, int status, int argc, const char* const* argv);

/// Whether this process is one of several that a launcher started, before or after run().
[[nodiscard]] bool under_launcher();

}  // namespace pgas
}  // namespace v1
}  // namespace shunt
