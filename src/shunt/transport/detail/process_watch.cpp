#include <shunt/transport/detail/process_watch.hpp>

#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <iterator>

namespace shunt {
inline namespace v1 {
namespace transport {
namespace detail {
namespace {

/// \return false: this process does not know what its process numbers mean to others, as it sees no /proc.
bool knows_its_namespace() noexcept {
  struct stat about{};
  return stat("/proc/self/ns/pid", &about) == 0 && about.st_ino != 0;
}

/// \return a file descriptor that becomes readable when the process ends; -1 and errno where the kernel has none
///         (before 5.3) or a filter forbids it.
int open_process(int pid) noexcept {
#ifdef SYS_pidfd_open
  return static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
#else
  static_cast<void>(pid);
  errno = ENOSYS;
  return -1;
#endif
}

loss ended(int rank, int pid) { return {rank, "ended (process " + std::to_string(pid) + ")"}; }

}  // namespace

process_watch::~process_watch() {
  for (const auto& p : pidfds_) close(p.fd);
}

void process_watch::add(int rank, int pid) {
  if (!knows_its_namespace()) return;
  const int fd = open_process(pid);
  if (fd >= 0) {
    processes_.push_back({rank, pid});
    pidfds_.push_back({fd, POLLIN, 0});
  } else if (errno == ESRCH) {
    ended_early_ = ended(rank, pid);
  }  // else: its silence must do
}

std::optional<loss> process_watch::find_ended() const {
  if (ended_early_) return ended_early_;
  std::vector<pollfd> ends = pidfds_;  // a copy: poll(2) writes into it, and several threads may ask at once
  if (ends.empty() || ::poll(ends.data(), static_cast<nfds_t>(ends.size()), 0) <= 0) return std::nullopt;
  for (std::size_t i = 0; i < ends.size(); ++i) {
    if ((ends[i].revents & POLLIN) != 0) return ended(processes_[i].rank, processes_[i].pid);
  }
  return std::nullopt;
}

std::optional<loss> process_watch::find_stopped() const {
  for (const auto& p : processes_) {
    if (is_stopped(p)) return loss{p.rank, "stopped (process " + std::to_string(p.pid) + ")"};
  }
  return std::nullopt;
}

bool process_watch::is_stopped(int rank) const {
  const auto known =
      std::find_if(processes_.begin(), processes_.end(), [rank](const process& p) { return p.rank == rank; });
  return known != processes_.end() && is_stopped(*known);
}

bool process_watch::is_stopped(const process& p) {
  std::ifstream file("/proc/" + std::to_string(p.pid) + "/stat");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const auto name_ends = text.rfind(')');  // then a blank and the state: proc(5)
  return name_ends != std::string::npos && name_ends + 2 < text.size() &&
         (text[name_ends + 2] == 'T' || text[name_ends + 2] == 't');
}

}  // namespace detail
}  // namespace transport
}  // namespace v1
}  // namespace shunt
