/// The processes of other ranks of this machine, as the kernel sees them: which has ended, which is stopped.
///
/// The kernel knows of an end at once, and needs no answer from the other process. Where it has no pidfd (before 5.3,
/// or where a filter forbids it) this knows nothing, and a rank's silence must do.
#pragma once

#include <poll.h>

#include <optional>
#include <string>
#include <vector>

#include <shunt/transport/transport.hpp>

namespace shunt {
inline namespace v1 {
namespace transport {
namespace detail {

/// Built by one thread, constant from then on: any thread may ask.
class process_watch {
 public:
  process_watch() = default;
  ~process_watch();
  process_watch(const process_watch&) = delete;
  process_watch& operator=(const process_watch&) = delete;

  /// While it is built. Watches a process of this machine.
  /// \param rank  whose process it is
  void add(int rank, int pid);

  /// Any thread. A rank whose process has ended. Cost: one poll(2).
  [[nodiscard]] std::optional<loss> find_ended() const;
  /// Any thread. The first rank whose process is stopped. Cost: reads a file of /proc a process.
  [[nodiscard]] std::optional<loss> find_stopped() const;
  /// Any thread. Whether the process of `rank` is known to be stopped, by job control or a debugger.
  [[nodiscard]] bool is_stopped(int rank) const;

 private:
  struct process {
    int rank = 0;
    int pid = 0;
  };
  static bool is_stopped(const process& p);

  std::vector<process> processes_;  // processes_[i] is watched by pidfds_[i]
  std::vector<pollfd> pidfds_;
  std::optional<loss> ended_early_;  // a process that had ended before it could be watched
};

}  // namespace detail
}  // namespace transport
}  // namespace v1
}  // namespace shunt
