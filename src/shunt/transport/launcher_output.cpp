#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include <shunt/transport/processes.hpp>

namespace shunt {
inline namespace v1 {
namespace transport {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds time_to_read{2'000};
constexpr milliseconds time_to_pass_on{100};

/// Whether there is something in a pipe that has not been read. Other files have no reader that could miss it.
bool has_unread(int descriptor) noexcept {
  struct stat about{};
  if (::fstat(descriptor, &about) != 0 || !S_ISFIFO(about.st_mode)) return false;
  int unread = 0;
  return ::ioctl(descriptor, FIONREAD, &unread) == 0 && unread > 0;
}

}  // namespace

void let_launcher_read() noexcept {
  const auto end = std::chrono::steady_clock::now() + time_to_read;
  while ((has_unread(STDOUT_FILENO) || has_unread(STDERR_FILENO)) && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(milliseconds(1));
  }
  std::this_thread::sleep_for(time_to_pass_on);
}

}  // namespace transport
}  // namespace v1
}  // namespace shunt
