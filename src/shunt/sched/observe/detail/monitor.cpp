#include <shunt/sched/observe/detail/monitor.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <string>

#include <shunt/base/wait_time.hpp>
#include <shunt/sched/detail/worker.hpp>
#include <shunt/sched/observe/detail/fiber_dump.hpp>
#include <shunt/sched/observe/detail/late_stops.hpp>
#include <shunt/sched/observe/detail/registry.hpp>
#include <shunt/sched/observe/detail/stalls.hpp>
#include <shunt/sched/observe/detail/user_signal.hpp>

#if defined(__linux__)
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <unistd.h>
#include <csignal>
#endif

namespace shunt {
inline namespace v1 {
namespace sched {
namespace detail {
constinit std::atomic<bool> monitor_dozes{false};

#if defined(__linux__)
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

constinit std::mutex event_lock;  // for threads that write to the event outside of a turn: it is not closed meanwhile
constinit pthread_t thread{};     // guarded by the registry's turn

// --- the thread ---

/// While no worker runs anything, the monitor looks at nothing, and sleeps until it is told. The caller holds the
/// registry's lock.
/// Edge `up`: a worker says that it is awake, then looks whether the monitor dozes; the monitor says that it dozes,
/// then looks whether each worker is awake. All four are sequentially consistent, so at least one side sees the other.
bool doze_if_all_sleep(const registry& r) noexcept {
  monitor_dozes.store(true, std::memory_order_seq_cst);  // edge `up`
  for (const shared* const s : r.runtimes) {
    if (!looks_for_stalls(*s)) continue;
    for (const auto& each : s->workers) {
      if (each->published.sleeps()) continue;
      monitor_dozes.store(false, std::memory_order_relaxed);  // relaxed: a worker that saw it notifies once too often
      return false;
    }
  }
  return true;
}

/// How long the monitor may sleep. It dozes at most once between two timed looks: workers that fall asleep and wake up
/// all the time must not notify it each time. The caller holds the registry's lock.
nanoseconds longest_sleep(const registry& r, bool was_told) {
  auto patience = nanoseconds::max();
  const bool any =
      std::any_of(r.runtimes.begin(), r.runtimes.end(), [](const shared* s) { return looks_for_stalls(*s); });
  const bool all_asleep = any && !was_told && doze_if_all_sleep(r);
  for (shared* const s : r.runtimes) {
    if (const auto late = std::min(s->stop_is_late(), s->late.next()); late != late.max()) {
      patience = std::min<nanoseconds>(patience, late - std::chrono::steady_clock::now());
    }
    if (!all_asleep) patience = std::min(patience, time_between_looks(*s));
  }
  return patience;
}

/// Reports each run, and each group of fibers, that was asked to stop long ago and has not ended.
void find_late_stops(const registry& r) {
  for (shared* const s : r.runtimes) {
    tell_late_stops(*s);
    if (s->stop_is_late() > std::chrono::steady_clock::now()) continue;
    s->late_stop_was_told();
    s->report("shunt: asked to stop, and not ended. " + fibers_of_locked(*s));
  }
}

void report_all(const registry& r) {
  for (shared* s : r.runtimes) s->report("shunt: " + fibers_of_locked(*s));
  if (r.runtimes.empty()) say_nothing_runs();
}

/// Waits for the event or for the time of the next look, and then looks at everything.
void* monitor_main(void*) {
  auto& r = the_registry();
  const int its_event = monitor_event();  // made before this thread, and closed after it has ended
  stall_finder stalls;
  for (bool was_told = true;;) {
    nanoseconds patience{};
    {
      const std::scoped_lock held(r.lock);
      patience = longest_sleep(r, was_told);
    }
    pollfd heard{its_event, POLLIN, 0};
    const wait_time limit(patience);
    ppoll(&heard, 1, limit.get(), nullptr);
    std::uint64_t sum = 0;
    was_told = (heard.revents & POLLIN) != 0 && read(its_event, &sum, sizeof sum) == sizeof sum;
    monitor_dozes.store(false,
                        std::memory_order_relaxed);  // relaxed: a worker that still sees it notifies once too often
    const bool asked = was_told && sum % news != 0;
    if (was_told && sum >= the_end) {
      if (asked) say_nothing_runs();
      return nullptr;
    }
    try {
      const std::scoped_lock held(r.lock);
      if (asked) report_all(r);
      stalls.look(r.runtimes);
      find_late_stops(r);
    } catch (...) {  // no memory: no report
    }
  }
}

// --- its beginning and end; the caller has the registry's turn ---

/// A failure leaves the process without a monitor: report_fibers() still works.
void begin_monitor() noexcept {
  if (monitor_event() >= 0) return;
  const std::scoped_lock held(event_lock);
  if (!open_monitor_event()) return;
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);  // the thread takes none of the program's signals
  const bool runs = pthread_create(&thread, nullptr, monitor_main, nullptr) == 0;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (!runs) close_monitor_event();
}

void end_monitor() noexcept {
  if (monitor_event() < 0) return;
  write_event(monitor_event(), the_end);
  pthread_join(thread, nullptr);
  const std::scoped_lock held(event_lock);
  close_monitor_event();
}

/// After a fork neither the parent's runs nor its thread are in this process.
void forget_parent(registry& r) noexcept {
  if (!forget_parents_event()) return;
  r.runtimes.clear();
  monitor_dozes.store(false, std::memory_order_relaxed);  // relaxed: there is no other thread yet
}

}  // namespace
#endif

/// Registers the runtime; the first one of the process starts the monitor's thread.
monitored_run::monitored_run(shared& of) noexcept : of_(nullptr) {
  auto& r = the_registry();
  const std::scoped_lock my_turn(r.turn);
#if defined(__linux__)
  forget_parent(r);
#endif
  try {
    const std::scoped_lock held(r.lock);
    r.runtimes.push_back(&of);
    of_ = &of;
  } catch (...) {  // no memory: then it is not reported
    return;
  }
#if defined(__linux__)
  if (of.settings.strategy != nullptr) return;  // one thread, which may be a fork's: no other one beside it
  begin_monitor();
  take_user_signal();  // the program may have put the default action back
  if (monitor_event() >= 0) write_event(monitor_event(), news);
#endif
}

/// The last runtime of the process ends the monitor's thread.
monitored_run::~monitored_run() {
  if (of_ == nullptr) return;
  auto& r = the_registry();
  const std::scoped_lock my_turn(r.turn);
  bool last = false;
  {
    const std::scoped_lock held(r.lock);
    r.runtimes.erase(std::find(r.runtimes.begin(), r.runtimes.end(), of_));
    last = r.runtimes.empty();
  }
#if defined(__linux__)
  if (last) end_monitor();
#endif
}

void wake_monitor() noexcept {
#if defined(__linux__)
  // Once for each doze. relaxed: the look that counts was tell_monitor()'s.
  if (monitor_dozes.exchange(false, std::memory_order_relaxed)) notify_monitor();
#endif
}

void notify_monitor() noexcept {
#if defined(__linux__)
  const std::scoped_lock held(event_lock);
  if (monitor_event() >= 0) write_event(monitor_event(), news);
#endif
}

/// The process has no other thread, and no signal handler of the program's, as /proc says. What cannot be found out
/// counts as something that can wake a fiber.
bool none_can_wake([[maybe_unused]] shared& of) noexcept {
#if defined(__linux__)
  auto& r = the_registry();
  const std::scoped_lock held(r.lock);
  if (r.runtimes.size() != 1 || r.runtimes.front() != &of) return false;
  char text[4096];
  const int from = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
  if (from < 0) return false;
  const auto count = read(from, text, sizeof text - 1);
  close(from);
  if (count <= 0) return false;
  text[count] = '\0';
  const char* const threads = std::strstr(text, "\nThreads:");
  const char* const caught = std::strstr(text, "\nSigCgt:");
  unsigned long number = 0;
  unsigned long long signals = 0;
  if (threads == nullptr || caught == nullptr || std::sscanf(threads, "\nThreads: %lu", &number) != 1 ||
      std::sscanf(caught, "\nSigCgt: %llx", &signals) != 1) {
    return false;
  }
  if (number != of.workers.size() + (monitor_event() >= 0 ? 1 : 0)) return false;
  // Handlers that wake no fiber: ours, those of faults, and the C library's own two, which begin at 32.
  const auto bit = [](int signal) { return 1ULL << (signal - 1); };
  for (const int fault : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGABRT, SIGSYS, 32, 33}) signals &= ~bit(fault);
  struct sigaction now{};
  if (sigaction(SIGUSR1, nullptr, &now) == 0 && is_our_action(now)) signals &= ~bit(SIGUSR1);
  return signals == 0;
#else
  return false;
#endif
}

}  // namespace detail
}  // namespace sched
}  // namespace v1
}  // namespace shunt
