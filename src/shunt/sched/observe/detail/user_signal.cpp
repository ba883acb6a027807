#include <shunt/sched/observe/detail/user_signal.hpp>

#if defined(__linux__)

#include <atomic>
#include <cerrno>
#include <cstring>
#include <thread>

#include <sys/eventfd.h>
#include <unistd.h>

#include <shunt/sched/detail/write_all.hpp>
#include <shunt/sched/fiber.hpp>

namespace shunt {
inline namespace v1 {
namespace sched {
namespace detail {
namespace {

constinit std::atomic<int> event{-1};   // the eventfd; -1: the monitor has no thread
constinit std::atomic<int> writers{0};  // handlers that may be about to write to it
constinit std::atomic<pid_t> process{0};

void on_user_signal(int) {
  const int kept = errno;
  // seq_cst, here and below: monitor_event.H1, monitor_event.H2
  writers.fetch_add(1, std::memory_order_seq_cst);
  const int its_event =
      process.load(std::memory_order_seq_cst) == getpid() ? event.load(std::memory_order_seq_cst) : -1;
  if (its_event >= 0) write_event(its_event, signal_came);
  writers.fetch_sub(1, std::memory_order_seq_cst);  // monitor_event.H1: from here on the event is not used
  if (its_event < 0) say_nothing_runs();
  errno = kept;
}

bool has_default_action(int number) noexcept {
  struct sigaction now{};
  return sigaction(number, nullptr, &now) == 0 && (now.sa_flags & SA_SIGINFO) == 0 && now.sa_handler == SIG_DFL;
}

/// Before main(): a question must not end a program that reads its input, or waits for its launcher, before it has a
/// runtime. In this file, since every program with a runtime contains it, with the static library as well.
[[gnu::constructor]] void take_signal_at_first() noexcept { take_user_signal(); }

}  // namespace

int monitor_event() noexcept {
  return event.load(std::memory_order_relaxed);  // relaxed: the turn or the lock orders it
}

bool open_monitor_event() noexcept {
  const int made = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (made < 0) return false;
  event.store(made, std::memory_order_seq_cst);  // monitor_event.H1
  return true;
}

void close_monitor_event() noexcept {
  const int old = event.exchange(-1, std::memory_order_seq_cst);  // monitor_event.H1
  while (writers.load(std::memory_order_seq_cst) != 0) std::this_thread::yield();
  close(old);
}

bool forget_parents_event() noexcept {
  // relaxed, but for monitor_event.H2: after a fork there is no other thread yet that has anything to do with it
  if (process.load(std::memory_order_relaxed) == getpid()) return false;
  writers.store(0, std::memory_order_relaxed);  // a thread of the parent may have been in its handler
  if (monitor_event() >= 0) close(monitor_event());
  event.store(-1, std::memory_order_relaxed);
  process.store(getpid(), std::memory_order_seq_cst);  // monitor_event.H2
  return true;
}

void write_event(int to, std::uint64_t what) noexcept {
  if (write(to, &what, sizeof what) < 0) return;  // fails only if it is full: then its reader wakes anyway
}

void take_user_signal() noexcept {
  if (!has_default_action(SIGUSR1)) return;
  struct sigaction ours{};
  ours.sa_handler = on_user_signal;
  ours.sa_flags = SA_RESTART | SA_ONSTACK;
  sigemptyset(&ours.sa_mask);
  sigaction(SIGUSR1, &ours, nullptr);
}

bool is_our_action(const struct sigaction& action) noexcept {
  return (action.sa_flags & SA_SIGINFO) == 0 && action.sa_handler == on_user_signal;
}

/// Builds the line by hand: a signal handler may use neither memory nor the formatting of the C++ library.
void say_nothing_runs() noexcept {
  char text[160] = "shunt: process ";
  std::size_t length = std::strlen(text);
  const auto add = [&](const char* more) {
    while (*more != '\0' && length < sizeof text) text[length++] = *more++;
  };
  char digits[24];
  char* first = digits + sizeof digits - 1;
  *first = '\0';
  for (auto left = static_cast<unsigned long>(getpid()); left != 0; left /= 10)
    *--first = static_cast<char>('0' + left % 10);
  add(first);
  // relaxed: for people
  add(controlled_runs.load(std::memory_order_relaxed) == 0
          ? " got SIGUSR1; no runtime runs in it now, so there are no fibers to report\n"
          : " got SIGUSR1; a strategy decides what runs in it, and no report is made meanwhile\n");
  write_all(STDERR_FILENO, {text, length});
}

}  // namespace detail
}  // namespace sched
}  // namespace v1
}  // namespace shunt

#endif
