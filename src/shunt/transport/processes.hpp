/// Jobs of several processes on one machine, without MPI: the transport `processes`.
///
/// A launcher starts the processes; each opens the transport (transport.hpp), and finds the others by what it has
/// inherited. Their trains lie in memory that all of them map, so a train moves as between threads.
///
///   variable      what the launcher tells
///   SHUNT_RANK    this process's number, 0..ranks-1
///   SHUNT_JOB     ranks, and two descriptors of memory: "4,3,5"
///
/// Linux only. The processes end with the launcher, however it ends.
#pragma once

#include <cstdlib>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace shunt {
inline namespace v1 {
namespace transport {

/// Processes that one job of the transport `processes` may have.
inline constexpr int most_processes = 1024;

/// Starts the processes of a job, waits for them, and passes on SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1 and SIGUSR2.
/// For a program that does nothing else: it takes over these signals and all of the process's children. Call it before
/// the process has a second thread.
///
/// Where a process fails, the others are ended: after 250 ms if it has said why (it ended with a status), after 4 s
/// if a signal ended it, so that the others can name it.
/// \param ranks  1..most_processes
/// \param words  the program and its arguments; the program is looked for in PATH if it has no slash. Not empty.
/// \return 0, or the status of the first that ended with another; 128 + its number for a signal.
/// \throws usage_error if the program cannot be started; shunt::error if the system refuses memory or processes.
[[nodiscard]] int run_processes(int ranks, const std::vector<std::string>& words);

/// The variables in which a launcher tells a process its rank, in the order in which they are asked: this one's,
/// mpirun's and oshrun's of Open MPI, mpiexec's of MPICH, and those of resource managers that speak PMIx.
inline constexpr const char* rank_variables[] = {"SHUNT_RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK"};

/// Any thread, while none changes the environment. This process's rank as its launcher says it, before the transport is
/// open; null: it says none.
[[nodiscard]] inline const char* rank_by_launcher() noexcept {
  for (const char* const variable : rank_variables) {
    if (const char* const rank = std::getenv(variable)) return rank;
  }
  return nullptr;
}

/// Any thread, before it ends the process with a status other than 0. Waits until what was written to standard output
/// and error has been read there, if they are pipes, for at most 2 s; and then 100 ms, in which a launcher passes it
/// on. mpirun and mpiexec drop what they have not passed on when a rank ends so.
void let_launcher_read() noexcept;

/// Any thread, while none changes the environment. How many processes of the job the launcher has started on this
/// machine, this one included, before the transport is open; 0: it does not say.
[[nodiscard]] inline int ranks_here_by_launcher() noexcept {
  // This one's begins with the number of ranks, all of which are here.
  for (const char* const variable : {"SHUNT_JOB", "OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS"}) {
    if (const char* const count = std::getenv(variable)) return std::atoi(count);
  }
  // "4", or "4(x2)" for the same on two machines. A list does not say which of its numbers is this machine's.
  if (const char* const slurm = std::getenv("SLURM_STEP_TASKS_PER_NODE")) {
    if (std::string_view(slurm).find(',') == std::string_view::npos) return std::atoi(slurm);
  }
  return 0;
}

/// For launchers, which do nothing else: from here on SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1 and SIGUSR2 that a
/// process sends to this one go on to `to`. A terminal sends its own to all processes of a job.
/// \param to       numbers of processes, which the caller keeps; 0: one that has ended
/// \param refused  in the signal handler, where a process does not catch SIGUSR1 or SIGUSR2, and so is not sent it;
///                 null: nothing happens
void pass_signals_on(std::span<const int> to, void (*refused)() noexcept = nullptr) noexcept;

/// For launchers; in a signal handler, too. Whether a process catches the signal now: SIGUSR1 and SIGUSR2 ask a
/// question, and would end one that does not catch them, or not yet. The kernel's text is read with system calls alone.
[[nodiscard]] bool catches_signal(int process, int number) noexcept;

}  // namespace transport
}  // namespace v1
}  // namespace shunt
