#include <shunt/base/memory_limit.hpp>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <fcntl.h>
#include <pthread.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

namespace shunt {
inline namespace v1 {
namespace {

/// Reads a small file, without a stream, since memory is short. Empty if it cannot be read.
template <std::size_t Bytes>
struct small_file {
  char text[Bytes] = {};
  explicit small_file(const char* path) noexcept {
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return;
    std::size_t length = 0;
    for (ssize_t got = 0; length < Bytes - 1 && (got = read(fd, text + length, Bytes - 1 - length)) > 0;) {
      length += static_cast<std::size_t>(got);
    }
    close(fd);
    text[length] = '\0';
  }
  /// The number behind `key`; 0 for none.
  [[nodiscard]] unsigned long long number(const char* key) const noexcept {
    const char* const at = std::strstr(text, key);
    return at == nullptr ? 0 : std::strtoull(at + std::strlen(key), nullptr, 10);
  }
};

/// Mappings of this process. Counting 65,530 of them takes some 20 ms, and errors of this kind come in crowds, so a
/// count of the last second serves.
unsigned long long mappings() noexcept {
  static std::atomic<long> counted_at{-10};
  static std::atomic<unsigned long long> last{0};
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  if (now.tv_sec - counted_at.load(std::memory_order_relaxed) <= 1) {  // relaxed: any recent count serves
    return last.load(std::memory_order_relaxed);                       // relaxed: the same
  }
  unsigned long long lines = 0;
  const int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  if (fd >= 0) {
    char part[4096];
    for (ssize_t got = 0; (got = read(fd, part, sizeof part)) > 0;) {
      for (ssize_t i = 0; i < got; ++i) lines += part[i] == '\n' ? 1 : 0;
    }
    close(fd);
  }
  // relaxed, both: a thread that sees a new time and an old count returns a count that is not much older.
  last.store(lines, std::memory_order_relaxed);
  counted_at.store(now.tv_sec, std::memory_order_relaxed);
  return lines;
}

std::string mib(unsigned long long kib) { return std::to_string(kib / 1024) + " MiB"; }

/// Whether `used` KiB and `more` bytes exceed the limit. \param kib  the limit's value, if so.
bool exceeds(int resource, unsigned long long used, std::size_t more, unsigned long long& kib) noexcept {
  rlimit limit{};
  if (getrlimit(static_cast<__rlimit_resource_t>(resource), &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
    return false;
  kib = limit.rlim_cur / 1024;
  return used + more / 1024 + 4 > kib;
}

/// The limit on data, or on all address space, that `bytes` more would exceed. Empty: none.
std::string process_limit(std::size_t bytes) {
  const small_file<8192> status("/proc/self/status");
  unsigned long long limit = 0;
  const auto space = status.number("VmSize:");
  if (exceeds(RLIMIT_AS, space, bytes, limit)) {
    return "the process uses " + mib(space) + " of the " + mib(limit) +
           " of address space that it may have: raise RLIMIT_AS (ulimit -v)";
  }
  const auto data = status.number("VmData:");
  if (exceeds(RLIMIT_DATA, data, bytes, limit)) {
    return "the process uses " + mib(data) + " of the " + mib(limit) +
           " of data that it may have: raise RLIMIT_DATA (ulimit -d)";
  }
  return {};
}

}  // namespace

/// The process's own limits first, then the system's promise of memory, then the number of mappings.
std::string memory_limit_in_force(std::size_t bytes) {
  if (auto known = process_limit(bytes); !known.empty()) return known;
  const small_file<64> mode("/proc/sys/vm/overcommit_memory");
  if (mode.text[0] == '2') {
    const small_file<8192> system("/proc/meminfo");
    const auto committed = system.number("Committed_AS:");
    const auto allowed = system.number("CommitLimit:");
    if (committed + bytes / 1024 > allowed) {
      return "the system has promised " + mib(committed) + " of " + mib(allowed) +
             " of memory: raise vm.overcommit_ratio, or set vm.overcommit_memory to 0";
    }
  }
  const small_file<64> most("/proc/sys/vm/max_map_count");
  const auto allowed = std::strtoull(most.text, nullptr, 10);
  const auto used = mappings();
  if (allowed != 0 && used + 16 >= allowed) {
    return "the process has " + std::to_string(used) + " of the " + std::to_string(allowed) +
           " mappings that it may have: raise vm.max_map_count (sysctl)";
  }
  return "memory is short, or a limit stands in the way: RLIMIT_AS (ulimit -v), RLIMIT_DATA (ulimit -d), "
         "vm.max_map_count, "
         "vm.overcommit_memory";
}

std::string thread_limit_in_force() {
  pthread_attr_t usual;
  std::size_t stack = std::size_t{8} << 20;
  if (pthread_attr_init(&usual) == 0) {
    static_cast<void>(pthread_attr_getstacksize(&usual, &stack));
    pthread_attr_destroy(&usual);
  }
  if (auto known = process_limit(stack); !known.empty()) return known;
  std::string text = "a limit on threads stands in the way: RLIMIT_NPROC (ulimit -u)";
  rlimit limit{};
  if (getrlimit(RLIMIT_NPROC, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
    text += ", which is " + std::to_string(limit.rlim_cur) + " for all of the user's";
  }
  return text + "; pids.max of the control group; kernel.threads-max (sysctl); or memory is short";
}

}  // namespace v1
}  // namespace shunt
