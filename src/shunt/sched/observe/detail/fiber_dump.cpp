#include <shunt/sched/observe/detail/fiber_dump.hpp>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

#include <shunt/sched/detail/worker.hpp>
#include <shunt/sched/observe/detail/dump_text.hpp>
#include <shunt/sched/observe/detail/registry.hpp>

#if defined(__linux__)
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>
#include <csignal>
#endif

namespace shunt {
inline namespace v1 {
namespace sched {
namespace detail {
namespace {

using namespace std::chrono_literals;

constexpr auto until_signal = 100ms;  // for a worker's loop to answer
// Long after the signal: a busy machine may leave a thread without a CPU for a while.
constexpr auto until_given_up = 2s;
constexpr auto between_looks = 50us;
constexpr std::size_t slabs_at_once = 64;

#if defined(__linux__)
/// The handler of SIGURG: answers for the interrupted worker, with the stack pointer of what was interrupted.
void interrupted(int, siginfo_t*, void* context) {
  const int kept = errno;
  [[maybe_unused]] const auto& machine = static_cast<const ucontext_t*>(context)->uc_mcontext;
#if defined(__x86_64__)
  const auto sp = static_cast<std::uintptr_t>(machine.gregs[REG_RSP]);
#elif defined(__aarch64__)
  const auto sp = static_cast<std::uintptr_t>(machine.sp);
#else
  const std::uintptr_t sp = 0;
#endif
  if (worker* const here = worker::current(); here != nullptr) answer_snapshot(*here, sp);
  errno = kept;
}

/// While one lives, SIGURG asks a worker's thread for its snapshot. By default that signal is ignored, so one that
/// arrives late does no harm.
class interrupter {
 public:
  interrupter() noexcept {
    struct sigaction ours{};
    ours.sa_sigaction = interrupted;
    ours.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;
    sigemptyset(&ours.sa_mask);
    usable_ = sigaction(SIGURG, &ours, &before_) == 0;
  }
  ~interrupter() {
    if (usable_) sigaction(SIGURG, &before_, nullptr);
  }
  interrupter(const interrupter&) = delete;
  interrupter& operator=(const interrupter&) = delete;

  void interrupt(const worker& w) const noexcept {
    if (usable_ && w.published.thread() != 0) syscall(SYS_tgkill, getpid(), w.published.thread(), SIGURG);
  }

 private:
  bool usable_ = false;
  struct sigaction before_{};
};
#else
struct interrupter {
  void interrupt(const worker&) const noexcept {}
};
#endif

/// One collect(): asks for some slabs at a time, of all workers at once, and waits for one worker after the other.
class collector {
 public:
  collector(std::span<worker* const> workers, std::span<dump_text* const> into)
      : workers_(workers), into_(into), silent_(workers.size(), false), given_up_(workers.size(), false) {}
  ~collector() {
    for (worker* w : workers_) {
      static_cast<void>(w->snapshot.withdraw());  // only after an exception is there still a request
      w->snapshot.release();
    }
  }
  collector(const collector&) = delete;
  collector& operator=(const collector&) = delete;

  /// Asks all workers before it waits for the first: they answer at the same time.
  void collect(std::span<const fiber_slab> part, snapshot::scope what, bool first_part) {
    for (worker* w : workers_) w->snapshot.reserve(part.size() * part.front().size());
    for (worker* w : workers_) {
      w->snapshot.request(part, what);
      if (w == here_) {
        answer_snapshot(*w);
      } else {
        w->remote.unpark();
      }
    }
    const auto begun = std::chrono::steady_clock::now();
    for (std::size_t i = 0; i < workers_.size(); ++i) {
      wait_for(i, begun);
      take(i, first_part);
    }
  }

 private:
  /// Interrupts the worker once if its loop does not answer, and gives up much later.
  void wait_for(std::size_t i, std::chrono::steady_clock::time_point begun) {
    const worker& w = *workers_[i];
    bool interrupted_it = false;
    while (!w.snapshot.is_answered() && w.published.thread() != 0) {
      const auto waited = std::chrono::steady_clock::now() - begun;
      if (!interrupted_it && (silent_[i] || waited > until_signal)) {
        by_signal_.interrupt(w);
        interrupted_it = silent_[i] = true;
      }
      if (waited > (given_up_[i] ? until_signal : until_given_up)) break;
      std::this_thread::sleep_for(between_looks);
    }
  }
  /// Adds what the worker wrote; or, once a collection, a line about a worker that did not answer.
  void take(std::size_t i, bool first_part) {
    worker& w = *workers_[i];
    if (!w.snapshot.withdraw()) {
      given_up_[i] = true;
      if (first_part) {
        say("worker " + std::to_string(w.index) + " does not answer: its thread does not run, or holds signals off");
      }
      return;
    }
    for (dump_text* const text : into_) {
      for (const auto& record : w.snapshot.records()) text->add(w, record);
    }
    if (w.snapshot.stacks_left_out() && first_part) {
      say("worker " + std::to_string(w.index) + " was busy between fibers: their stacks are left out");
    }
  }
  void say(const std::string& line) {
    for (dump_text* const text : into_) text->say(line);
  }

  const interrupter by_signal_;
  worker* const here_ = worker::current();
  const std::span<worker* const> workers_;
  const std::span<dump_text* const> into_;
  std::vector<bool> silent_;    // the worker's loop did not answer the last time
  std::vector<bool> given_up_;  // the worker was waited for at length, which is not done for each part
};

}  // namespace

void collect(std::span<worker* const> workers, std::span<const fiber_slab> all, snapshot::scope what,
             std::span<dump_text* const> into) {
  collector c(workers, into);
  for (std::size_t first = 0; first < all.size(); first += slabs_at_once) {
    c.collect(all.subspan(first, std::min(slabs_at_once, all.size() - first)), what, first == 0);
  }
}

void collect(const shared& of, std::span<const fiber_slab> all, std::span<dump_text* const> into) {
  std::vector<worker*> workers;
  for (const auto& w : of.workers) workers.push_back(w.get());
  collect(workers, all, snapshot::scope::all, into);
}

/// The first line counts; then a line for each started fiber.
std::string fibers_of_locked(shared& of) {
  const auto all = all_fibers();
  dump_text text(all);
  dump_text* const into[] = {&text};
  collect(of, all, into);
  // Counted after the collection, so it may be off by those that began or ended meanwhile.
  const auto alive = of.alive();
  const auto rest = alive > text.listed() ? alive - text.listed() : 0;
  return "runtime of " + std::to_string(of.workers.size()) + (of.workers.size() == 1 ? " worker, " : " workers, ") +
         std::to_string(text.listed() + rest) + " fibers, " + std::to_string(rest) + " of them not started\n" +
         text.take();
}

std::string fibers_of(shared& of) {
  const std::scoped_lock held(the_registry().lock);
  return fibers_of_locked(of);
}

}  // namespace detail
}  // namespace sched
}  // namespace v1
}  // namespace shunt
