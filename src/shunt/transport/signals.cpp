#include <shunt/transport/processes.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace shunt {
inline namespace v1 {
namespace transport {
namespace {

/// What the handler knows: set before it is.
struct passing {
  std::span<const int> to;
  void (*refused)() noexcept = nullptr;
} passed;

void pass_on(int number, siginfo_t* info, void*) {
  if (info->si_code == SI_KERNEL) return;  // the terminal has sent it to all processes of the job
  const int kept = errno;
  const bool asks = number == SIGUSR1 || number == SIGUSR2;
  for (const int process : passed.to) {
    if (process <= 0) continue;
    if (!asks || catches_signal(process, number)) {
      ::kill(process, number);
    } else if (passed.refused != nullptr) {
      passed.refused();
    }
  }
  errno = kept;
}

}  // namespace

void pass_signals_on(std::span<const int> to, void (*refused)() noexcept) noexcept {
  passed = {to, refused};
  for (const int number : {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2}) {
    struct sigaction how{};
    how.sa_sigaction = pass_on;
    how.sa_flags = SA_SIGINFO;
    ::sigaction(number, &how, nullptr);
  }
}

bool catches_signal(int process, int number) noexcept {
  char path[32] = "/proc/";
  char* const digits = std::to_chars(path + 6, path + sizeof path - sizeof "/status", process).ptr;
  std::memcpy(digits, "/status", sizeof "/status");
  const int from = ::open(path, O_RDONLY | O_CLOEXEC);
  if (from < 0) return false;
  std::array<char, 4096> text{};
  const auto length = ::read(from, text.data(), text.size());
  ::close(from);
  const std::string_view all(text.data(), length < 0 ? 0 : static_cast<std::size_t>(length));
  const auto line = all.find("\nSigCgt:\t");
  if (line == all.npos) return false;
  const auto mask = all.substr(line + 9, all.find('\n', line + 1) - line - 9);
  std::uint64_t caught = 0;
  std::from_chars(mask.data(), mask.data() + mask.size(), caught, 16);
  return (caught >> (number - 1) & 1) != 0;
}

}  // namespace transport
}  // namespace v1
}  // namespace shunt
