#include <shunt/io/signals.hpp>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>

#include <pthread.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <shunt/base/call_site.hpp>
#include <shunt/base/error.hpp>
#include <shunt/io/detail/descriptor_state.hpp>
#include <shunt/io/io_error.hpp>

namespace shunt {
inline namespace v1 {
namespace io {
namespace {

/// The bit of a signal in /proc: n - 1 for signal n.
std::uint64_t bit(int number) { return std::uint64_t{1} << (number - 1); }

struct thread_facts {
  std::string name;
  std::uint64_t blocked = 0;
};

/// Reads the facts of a thread from its folder in /proc; nothing if it has ended, or there is no /proc.
std::optional<thread_facts> facts_of(const std::filesystem::path& thread) {
  std::ifstream status(thread / "status");
  thread_facts found;
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("Name:\t")) found.name = line.substr(6);
    if (!line.starts_with("SigBlk:\t")) continue;
    found.blocked = std::stoull(line.substr(8), nullptr, 16);
    return found;
  }
  return {};
}

/// Whether a thread is ending, and so takes no signal any more. It may have been joined already: the kernel removes it
/// from the list later.
bool is_ending(const std::filesystem::path& thread) {
  constexpr unsigned long pf_exiting = 4;  // linux/sched.h
  std::ifstream stat(thread / "stat");
  std::string line;
  std::getline(stat, line);
  const auto after_name = line.rfind(')');   // the name may contain any character
  if (after_name == line.npos) return true;  // it is gone
  std::istringstream fields(line.substr(after_name + 1));
  std::string skipped;
  for (int i = 0; i < 6; ++i) fields >> skipped;  // state, parent, group, session, terminal, its group
  unsigned long flags = 0;
  fields >> flags;
  return (flags & pf_exiting) != 0;
}

/// \throws usage_error if a thread of this process does not block one of `wanted` (signals.S1).
void check_threads(std::uint64_t wanted, call_site call) {
  const std::filesystem::path threads = "/proc/self/task";
  const auto mine = facts_of(threads / std::to_string(gettid()));
  // This thread does block them: where /proc says otherwise, as under an emulator, its other lines are wrong, too.
  if (!mine || (mine->blocked & wanted) != wanted) return;
  std::error_code ec;
  for (const auto& one : std::filesystem::directory_iterator(threads, ec)) {
    const auto facts = facts_of(one.path());
    if (!facts || (facts->blocked & wanted) == wanted || is_ending(one.path())) continue;
    int number = 1;
    while ((wanted & ~facts->blocked & bit(number)) == 0) ++number;
    throw usage_error(error_number(320),
                      "signals: thread " + one.path().filename().string() + " (" + facts->name + ") does not block " +
                          signal_name(number) + "; make the set before other threads, and before run()" + call.place(),
                      call.where());
  }
}

}  // namespace

std::string signal_name(int number) {
  if (number >= SIGRTMIN && number <= SIGRTMAX) {
    const int above = number - SIGRTMIN;
    return above == 0 ? "SIGRTMIN" : "SIGRTMIN+" + std::to_string(above);
  }
  const char* const name = sigabbrev_np(number);
  return name != nullptr ? "SIG" + std::string(name) : "signal " + std::to_string(number);
}

signals::signals(std::initializer_list<int> set, std::source_location where) {
  const call_site call("signals", where);
  sigset_t wanted;
  sigemptyset(&wanted);
  std::uint64_t bits = 0;
  for (const int number : set) {
    if (number == SIGKILL || number == SIGSTOP) {
      throw usage_error(error_number(321), "signals: no process can wait for " + signal_name(number) + call.place(),
                        call.where());
    }
    if (sigaddset(&wanted, number) != 0) {
      throw usage_error(error_number(322), "signals: there is no signal " + std::to_string(number) + call.place(),
                        call.where());
    }
    bits |= bit(number);
    names_ += (names_.empty() ? "" : ", ") + signal_name(number);
  }
  if (set.size() == 0) throw usage_error(error_number(323), "signals: the set is empty" + call.place(), call.where());

  sigset_t before;
  pthread_sigmask(SIG_BLOCK, &wanted, &before);
  try {
    check_threads(bits, call);
    const int fd = signalfd(-1, &wanted, SFD_NONBLOCK | SFD_CLOEXEC);
    if (fd < 0) throw io_error("signals", {errno, std::system_category()}, 0, where);
    base_ = descriptor(fd);
  } catch (...) {
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    throw;
  }
}

signals::arrival signals::wait(std::error_code& ec, const deadline& until) {
  signalfd_siginfo one{};
  const auto done = detail::perform("wait", base_.state(), detail::side::in, until,
                                    [&](int fd) { return ::read(fd, &one, sizeof one); });
  ec = done.ec;
  if (ec) return {};
  return {static_cast<int>(one.ssi_signo), static_cast<pid_t>(one.ssi_pid), one.ssi_int};
}

signals::arrival signals::wait(const deadline& until) {
  std::error_code ec;
  const auto one = wait(ec, until);
  if (ec) throw io_error("wait for " + names_, ec, 0, until.where());
  return one;
}

}  // namespace io
}  // namespace v1
}  // namespace shunt
