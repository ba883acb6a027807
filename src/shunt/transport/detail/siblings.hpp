/// The ranks of this job that run on this machine, as /proc shows them. A message names one when MPI cannot be asked.
///
/// A rank is a process below the same process of the launcher as this one. The environment tells the two apart: a rank
/// has its number there, its launcher has none. A shell between them has the number too; it counts as the rank only if
/// no child of it has the number.
#pragma once

#include <string>
#include <vector>

namespace shunt {
inline namespace v1 {
namespace transport {
namespace detail {

/// The name of the watchdog thread, which a transport runs from before MPI_Init to after MPI_Finalize. A rank without
/// such a thread has not called open() yet, or has left MPI.
inline constexpr const char* watchdog_name = "shunt-watchdog";

/// Another rank of this job on this machine.
struct sibling {
  int rank = 0;
  int pid = 0;
  char state = '?';       ///< as proc(5) has it: 'T' and 't' are stopped, 'Z' has ended
  bool watchdog = false;  ///< has a thread of that name
};

/// What the launcher's variables say of this process. -1 and 0: they do not say it.
struct self {
  int rank = -1;
  int ranks = 0;  ///< of the job
  int here = 0;   ///< ranks that the launcher started on this machine
};
/// Any thread.
[[nodiscard]] self self_by_launcher();

/// Any thread. The other ranks, in the order of their numbers; empty where /proc cannot be read.
/// \param proc  the path of /proc; tests pass a fake tree
/// \param pid   the process of it that asks
/// Cost: reads /proc for every process of the machine, so it is for a job that ends anyway.
[[nodiscard]] std::vector<sibling> siblings(const std::string& proc, int pid);

/// Any thread. Why a rank waits in vain, as far as its machine shows it: "rank 2 (process 4711) is stopped". A rank
/// that is stopped is named first, then one that has ended, then one without a watchdog.
/// \param missing_watchdog  what it means that a rank has no watchdog, e.g. "has not called run() yet"
[[nodiscard]] std::string explain(const self& me, const std::vector<sibling>& others, const char* missing_watchdog);

}  // namespace detail
}  // namespace transport
}  // namespace v1
}  // namespace shunt
