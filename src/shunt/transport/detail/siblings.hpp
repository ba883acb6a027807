/// The ranks of this job that run on this machine, as the kernel shows them: for a message, when MPI cannot be asked.
///
/// A rank is a process below the same process of the launcher. What tells the two apart is the environment: a rank has
/// its number there, its launcher has none. A shell between them has the number too, and counts as the rank only if
/// it has no child that has it.
#pragma once

#include <string>
#include <vector>

namespace shunt {
inline namespace v1 {
namespace transport {
namespace detail {

/// The name of the thread that a transport runs from before MPI_Init to after MPI_Finalize. A rank without such a
/// thread has not come so far, or is past it.
inline constexpr const char* keeper_name = "shunt-keeper";

struct sibling {
  int rank = 0;
  int pid = 0;
  char state = '?';     ///< as proc(5) has it: 'T' and 't' are stopped, 'Z' has ended
  bool keeper = false;  ///< has the thread above
};

/// What the launcher says of this process; -1, 0: it does not.
struct self {
  int rank = -1;
  int ranks = 0;
  int here = 0;  ///< ranks that it started on this machine
};
[[nodiscard]] self self_by_launcher();

/// The other ranks, by number. Reads /proc for every process of this user: for a job that ends anyway.
/// \param proc  where /proc is, and `pid` which process of it asks; tests pass a fake tree.
[[nodiscard]] std::vector<sibling> siblings(const std::string& proc, int pid);

/// Why a rank waits in vain, as far as its machine shows it: "rank 2 (process 4711) is stopped". The process that is
/// stopped is named first, then one that has ended, then one that has not called run() yet.
/// \param missing_thread  what it means that a rank has no keeper, e.g. "has not called run() yet"
[[nodiscard]] std::string explain(const self& me, const std::vector<sibling>& others, const char* missing_thread);

}  // namespace detail
}  // namespace transport
}  // namespace v1
}  // namespace shunt
