#include <shunt/sched/observe/detail/kernel_wait.hpp>

#if defined(__linux__)

#include <array>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <string>

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace shunt {
inline namespace v1 {
namespace sched {
namespace detail {
namespace {

/// A small file of /proc about one thread; empty if it cannot be read.
std::string proc_text(long thread, const char* name) {
  const auto path = "/proc/self/task/" + std::to_string(thread) + '/' + name;
  const int from = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (from < 0) return {};
  char text[512];
  const auto count = read(from, text, sizeof text);
  close(from);
  return count <= 0 ? std::string() : std::string(text, static_cast<std::size_t>(count));
}

}  // namespace

std::chrono::nanoseconds cpu_time_of(long thread) noexcept {
  // As pthread_getcpuclockid() makes it, which wants the thread's other name: clockid_t of a thread, and
  // CPUCLOCK_SCHED.
  const auto clock = static_cast<clockid_t>((~static_cast<unsigned>(thread) << 3) | 6U);
  timespec used{};
  if (clock_gettime(clock, &used) != 0) return std::chrono::nanoseconds(-1);
  return std::chrono::seconds(used.tv_sec) + std::chrono::nanoseconds(used.tv_nsec);
}

bool sleeps_in_kernel(long thread) {
  const auto text = proc_text(thread, "stat");
  const auto after_name = text.rfind(')');  // a name may hold anything
  if (after_name == text.npos || after_name + 2 >= text.size()) return false;
  const char state = text[after_name + 2];
  return state == 'S' || state == 'D';
}

/// Parses what /proc says of the system call; of a futex that looks like a mutex reads the owner.
kernel_wait kernel_wait_of(long thread) {
  kernel_wait found;
  const auto text = proc_text(thread, "syscall");
  unsigned long word = 0;
  unsigned long op = 0;
  unsigned long value = 0;
  if (std::sscanf(text.c_str(), "%ld %lx %lx %lx", &found.call, &word, &op, &value) != 4) return {};
  found.is_lock = found.call == SYS_futex;
#if defined(__GLIBC__) && (defined(__x86_64__) || defined(__aarch64__))
  // glibc's mutex begins with its lock word, a count and its owner; a thread waits for the lock word to change from 2.
  // What looks so may be something else, and its memory may go away: so it is read through the kernel.
  constexpr unsigned long contended = 2;
  constexpr unsigned long command = 127;
  if (!found.is_lock || (op & command) != 0 || value != contended) return found;
  std::array<std::int32_t, 3> mutex{};
  const int memory = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
  if (memory < 0) return found;
  const auto count = pread(memory, mutex.data(), sizeof mutex, static_cast<off_t>(word));
  close(memory);
  if (count == sizeof mutex && mutex[0] == contended) found.mutex_owner = mutex[2];
#endif
  return found;
}

}  // namespace detail
}  // namespace sched
}  // namespace v1
}  // namespace shunt

#endif
