/// exit() amid a job of several processes.
///
/// A launcher takes a process that ends with status 0 for one that is done, and may end the others without a word, with
/// status 0 too (MPICH's does). So from before MPI_Init to after MPI_Finalize a call of exit() or quick_exit(), by any
/// thread, is an error: a handler says so, and ends the job with a status that is not 0. _Exit(), _exit() and
/// signals cannot be seen from inside a process: the other ranks, or the launcher, see that it is gone.
#pragma once

#include <string>

namespace shunt {
inline namespace v1 {
namespace pgas {
namespace detail {

class job;

/// While one lives, exit() is watched. One at a time in a process.
class exit_watch {
 public:
  /// \param wanted  false: nothing is watched
  /// \param name    in front of the message; empty: none
  exit_watch(bool wanted, const std::string& name);
  ~exit_watch();
  exit_watch(const exit_watch&) = delete;
  exit_watch& operator=(const exit_watch&) = delete;

  /// While one lives, `of` is told of an exit(), and ends itself: job::exited().
  class serving {
   public:
    explicit serving(job* of);  ///< null: nothing changes
    ~serving();
    serving(const serving&) = delete;
    serving& operator=(const serving&) = delete;

   private:
    const bool mine_;
  };

 private:
  const bool mine_;
};

}  // namespace detail
}  // namespace pgas
}  // namespace v1
}  // namespace shunt
