#include <shunt/sched/detail/watchman.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <map>
#include <mutex>
#include <span>
#include <string_view>
#include <thread>
#include <vector>

#include <shunt/base/symbols.hpp>
#include <shunt/context/backtrace.hpp>
#include <shunt/sched/detail/census.hpp>
#include <shunt/sched/detail/crew.hpp>
#include <shunt/sched/detail/time_limit.hpp>
#include <shunt/sched/detail/worker.hpp>
#include <shunt/sched/detail/write_all.hpp>
#include <shunt/sched/report.hpp>
#include <shunt/sched/report_notes.hpp>

#if defined(__linux__)
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>
#include <csignal>
#endif

namespace shunt {
inline namespace v1 {
namespace sched {
namespace detail {
constinit std::atomic<bool> dozes{false};

namespace {

using namespace std::chrono_literals;

constexpr auto until_signal = 100ms;  // for a worker's loop to answer
constexpr auto until_given_up =
    2s;  // long after the signal: a busy machine may leave a thread without a CPU for a while
constexpr auto between_looks = 50us;
constexpr std::size_t slabs_at_once = 64;
constexpr std::size_t most_beside = 20;  // fibers that are named beside the one that keeps their worker
// What the bell's sum of rings tells: how often there was a signal, whether there are news, or the end.
constexpr std::uint64_t signal_came = 1;
constexpr std::uint64_t news = std::uint64_t{1} << 32;
constexpr std::uint64_t the_end = std::uint64_t{1} << 48;

// --- the process's watch ---

struct watch {
  std::mutex turn;  // of who begins or ends a run; taken before `lock`
  std::mutex lock;  // guards `crews`; held during a census, so that no crew goes away
  std::vector<crew*> crews;
#if defined(__linux__)
  // Of the thread, which stands as long as any runtime runs.
  std::mutex bell_lock;  // for those who ring without a turn: it is not closed meanwhile
  pthread_t thread{};
#endif
};

#if defined(__linux__)
/// What the handler of SIGUSR1 uses. It is installed before main(), and stays: so it needs no lock, and nothing that
/// has to be constructed.
///
///   H1  The bell is written to only by a caller that has raised `ringing`, and found it there afterwards; and it is
///       closed only after it was taken away, and `ringing` was seen at 0. All of that is sequentially consistent:
///       a handler that the closing thread did not see finds no bell.
///   H2  After a fork the bell is the parent's: `process` says whose it is.
constinit std::atomic<int> bell{-1};    // eventfd: SIGUSR1, news, or the end; -1: no thread
constinit std::atomic<int> ringing{0};  // handlers that may be about to ring it
constinit std::atomic<pid_t> process{0};
#endif

/// Never destroyed: a runtime may run in a static destructor.
watch& the_watch() {
  static watch& one = *new watch;
  return one;
}

// --- the census ---

#if defined(__linux__)
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
  if (worker* const here = worker::current(); here != nullptr) here->answer_census(sp);
  errno = kept;
}

/// SIGURG for the census: by default it is ignored, so one that comes late does no harm.
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
    if (usable_ && w.thread() != 0) syscall(SYS_tgkill, getpid(), w.thread(), SIGURG);
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

// Only grow: null behind the last one.
constinit std::array<std::atomic<note_source>, 8> note_sources{};

/// The text about one crew.
class table {
 public:
  /// \param most  so many that do not run are told of; then those that run come first.
  explicit table(std::span<const fiber_slab> all, std::size_t most = ~std::size_t{0}) : all_(all), most_(most) {
    for (std::size_t i = 0; i < all.size(); ++i) numbers_[all[i].data()] = i * all[i].size();
    for (const auto& each : note_sources) {
      if (const auto source = each.load(std::memory_order_acquire))
        source(notes_);  // acquire: what it reads was made before
    }
  }

  void add(const worker& where, const fiber_record& r) {
    ++listed_;
    if (r.doing != fiber_record::state::running && others_++ >= most_) return;
    if (r.doing == fiber_record::state::running && most_ != ~std::size_t{0}) {
      std::string before = std::exchange(text_, {});
      write(where, r);
      text_ += before;
    } else {
      write(where, r);
    }
  }
  void say(const std::string& line) { text_ += line + '\n'; }

  [[nodiscard]] std::size_t listed() const noexcept { return listed_; }
  [[nodiscard]] std::string take() {
    if (others_ > most_) say("... and " + std::to_string(others_ - most_) + " more of its fibers");
    return std::move(text_);
  }

 private:
  void write(const worker& where, const fiber_record& r) {
    text_ += "fiber " + number(r.who) + name(r) + ", worker " + std::to_string(where.index()) + ", ";
    switch (r.doing) {
      case fiber_record::state::running: text_ += "running"; break;
      case fiber_record::state::ready: text_ += "ready"; break;
      case fiber_record::state::parked:
        text_ += "parked for " + seconds(r.parked_ms) + ": waits for " + r.waits_for.data();
        if (const auto note = notes_.find(r.who); note != notes_.end()) text_ += note->second;
        if (r.waits_on != nullptr) text_ += ", of fiber " + number(r.waits_on);
        if (r.has_deadline) text_ += ", until a time";
        break;
    }
    if (r.work != nullptr) text_ += "; " + std::string(r.work->text());
    text_ += "; stack ";
    if (r.stack_used != 0) text_ += std::to_string((r.stack_used + 1023) / 1024) + " of ";
    text_ += std::to_string(r.stack_bytes / 1024) + " KiB";
    const std::vector<const void*> frames(r.frames.begin(), r.frames.begin() + r.frame_count);
    if (frames.empty()) {
      text_ += '\n';
      return;
    }
    const auto [known, is_new] = places_.try_emplace(frames, r.who);
    if (!is_new) {
      text_ += ", as fiber " + number(known->second) + '\n';
      return;
    }
    text_ += '\n';
    bool begun = false;
    for (const void* at : frames) {
      const auto function = plain(names_.name(at));
      // What every stack has in common tells nothing: how it parked, and what called the body.
      if (function.find("shunt::sched::detail::worker::fiber_main(") == 0) return;
      begun = begun || function.find("shunt::sched::detail::worker::") != 0;
      if (begun) text_ += "    " + function + '\n';
    }
    if (frames.size() == fiber_record::most_frames) text_ += "    ...\n";
  }
  [[nodiscard]] std::string number(const fiber* f) const {
    auto slab = numbers_.upper_bound(f);
    if (slab == numbers_.begin()) return "?";
    --slab;
    return std::to_string(slab->second + static_cast<std::size_t>(f - slab->first));
  }
  static std::string name(const fiber_record& r) {
    const std::string_view text(r.name.data());
    if (text.empty()) return {};
    return " `" + std::string(text) + (text.size() + 1 == r.name.size() ? "...`" : "`");
  }
  /// As people write it: without the inline namespace.
  static std::string plain(std::string function) {
    constexpr std::string_view inner = "shunt::v1::";
    for (auto at = function.find(inner); at != std::string::npos; at = function.find(inner, at))
      function.erase(at + 7, 4);
    return function;
  }
  static std::string seconds(std::uint32_t ms) {
    char text[32];
    std::snprintf(text, sizeof text, "%.1f s", ms / 1000.0);
    return text;
  }

  std::span<const fiber_slab> all_;
  std::map<const fiber*, std::size_t> numbers_;  // by the slabs' addresses
  std::map<std::vector<const void*>, const fiber*> places_;
  wait_notes notes_;
  symbols names_;
  std::string text_;
  std::size_t listed_ = 0;
  const std::size_t most_;
  std::size_t others_ = 0;
};

/// Of those workers; the caller holds the watch's lock.
void look(std::span<worker* const> whom, std::span<const fiber_slab> all, sheet::wish what, table& into) {
  const interrupter by_signal;
  worker* const here = worker::current();
  std::vector<bool> silent(whom.size(), false);    // the loop did not answer the last time
  std::vector<bool> given_up(whom.size(), false);  // it was waited for at length, which is not done for each part
  const auto give_back = [&] {
    for (worker* w : whom) w->census().release();
  };
  try {
    for (std::size_t first = 0; first < all.size(); first += slabs_at_once) {
      const auto part = all.subspan(first, std::min(slabs_at_once, all.size() - first));
      for (worker* w : whom) w->census().reserve(part.size() * part.front().size());
      for (worker* w : whom) {
        w->census().give(part, what);
        if (w == here) {
          w->answer_census();
        } else {
          w->address().unpark();
        }
      }
      const auto begun = std::chrono::steady_clock::now();
      for (std::size_t i = 0; i < whom.size(); ++i) {
        worker& w = *whom[i];
        bool interrupted_it = false;
        while (!w.census().answered() && w.thread() != 0) {
          const auto waited = std::chrono::steady_clock::now() - begun;
          if (!interrupted_it && (silent[i] || waited > until_signal)) {
            by_signal.interrupt(w);
            interrupted_it = silent[i] = true;
          }
          if (waited > (given_up[i] ? until_signal : until_given_up)) break;
          std::this_thread::sleep_for(between_looks);
        }
        if (!w.census().withdraw()) {
          given_up[i] = true;
          if (first == 0)
            into.say("worker " + std::to_string(w.index()) +
                     " does not answer: its thread does not run, or holds signals off");
          continue;
        }
        for (const auto& record : w.census().records()) into.add(w, record);
        if (w.census().stacks_left_out() && first == 0) {
          into.say("worker " + std::to_string(w.index()) + " was busy between fibers: their stacks are left out");
        }
      }
    }
  } catch (...) {
    for (worker* w : whom) static_cast<void>(w->census().withdraw());
    give_back();
    throw;
  }
  give_back();
}

std::string fibers_of_locked(crew& of) {
  const auto all = all_fibers();
  std::vector<worker*> whom;
  for (const auto& w : of.workers) whom.push_back(w.get());
  table t(all);
  look(whom, all, sheet::wish::all, t);
  // Counted after the census, so it may be off by those that began or ended meanwhile.
  const auto alive = of.alive();
  const auto rest = alive > t.listed() ? alive - t.listed() : 0;
  return "runtime of " + std::to_string(whom.size()) + (whom.size() == 1 ? " worker, " : " workers, ") +
         std::to_string(t.listed() + rest) + " fibers, " + std::to_string(rest) + " of them not started\n" + t.take();
}

// --- the thread ---

#if defined(__linux__)

void ring(int its_bell, std::uint64_t what) noexcept {
  if (write(its_bell, &what, sizeof what) < 0) return;  // cannot fail but for "full": it rings loud enough
}
/// In one's turn, or under bell_lock. relaxed: both order it.
int bell_now() noexcept { return bell.load(std::memory_order_relaxed); }

/// Also in a signal handler.
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
  add(directed_runs.load(std::memory_order_relaxed) == 0
          ? " got SIGUSR1; no runtime runs in it now, so there are no fibers to report\n"
          : " got SIGUSR1; a chooser decides what runs in it, and no report is made meanwhile\n");
  write_all(STDERR_FILENO, {text, length});
}

void on_user_signal(int) {
  const int kept = errno;
  ringing.fetch_add(1, std::memory_order_seq_cst);  // H1
  const int its_bell = process.load(std::memory_order_seq_cst) == getpid() ? bell.load(std::memory_order_seq_cst) : -1;
  if (its_bell >= 0) ring(its_bell, signal_came);
  ringing.fetch_sub(1, std::memory_order_seq_cst);
  if (its_bell < 0) say_nothing_runs();
  errno = kept;
}

bool has_default_action(int number) noexcept {
  struct sigaction now{};
  return sigaction(number, nullptr, &now) == 0 && (now.sa_flags & SA_SIGINFO) == 0 && now.sa_handler == SIG_DFL;
}

/// SIGUSR1 asks for a report, from now on and for good, unless the program or its parent has decided about it.
void take_signal() noexcept {
  if (!has_default_action(SIGUSR1)) return;
  struct sigaction ours{};
  ours.sa_handler = on_user_signal;
  ours.sa_flags = SA_RESTART | SA_ONSTACK;
  sigemptyset(&ours.sa_mask);
  sigaction(SIGUSR1, &ours, nullptr);
}

/// Before main(): a question must not end a program that reads its input, or waits for its launcher, before it has a
/// runtime. In this file since every program with a runtime has it, of the static library as well.
[[gnu::constructor]] void take_signal_at_first() noexcept { take_signal(); }

/// A worker's fiber that is between the same two switches as at the last look.
struct stall_look {
  std::uint64_t beat = 0;
  std::chrono::nanoseconds used{-1};               // CPU time of its thread as of the last look; -1: not known
  std::chrono::steady_clock::time_point first{};   // of the looks that found this beat
  std::chrono::steady_clock::time_point asleep{};  // of those that also found this CPU time
  int sleeps = 0;                                  // so many of them after the first
  int looks = 0;                                   // so many that found this beat, after the first
  bool told_stall = false;
  bool told_block = false;
};

/// Of a thread of this process; -1: not known.
std::chrono::nanoseconds cpu_time_of(long thread) noexcept {
  // As pthread_getcpuclockid() makes it, which wants the thread's other name: clockid_t of a thread, and
  // CPUCLOCK_SCHED.
  const auto clock = static_cast<clockid_t>((~static_cast<unsigned>(thread) << 3) | 6U);
  timespec used{};
  if (clock_gettime(clock, &used) != 0) return -1ns;
  return std::chrono::seconds(used.tv_sec) + std::chrono::nanoseconds(used.tv_nsec);
}

/// A small file of /proc, for one thread of ours; empty if it cannot be read.
std::string proc_text(long thread, const char* name) {
  const auto path = "/proc/self/task/" + std::to_string(thread) + '/' + name;
  const int from = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (from < 0) return {};
  char text[512];
  const auto count = read(from, text, sizeof text);
  close(from);
  return count <= 0 ? std::string() : std::string(text, static_cast<std::size_t>(count));
}

/// Whether the kernel has put the thread to sleep: neither running, nor ready, nor stopped by a debugger.
bool sleeps_in_kernel(long thread) {
  const auto text = proc_text(thread, "stat");
  const auto after_name = text.rfind(')');  // a name may hold anything
  if (after_name == text.npos || after_name + 2 >= text.size()) return false;
  const char state = text[after_name + 2];
  return state == 'S' || state == 'D';
}

/// What a thread of ours waits for in the kernel.
struct kernel_wait {
  long call = -1;        // the system call's number; -1: not known
  bool is_lock = false;  // a futex's: its fiber may be interrupted, which only makes it look again
  long mutex_owner = 0;  // of a mutex, as the C library lays it out: the thread that holds it; 0: none that is known
};

kernel_wait kernel_wait_of(long thread) {
  kernel_wait found;
  const auto text = proc_text(thread, "syscall");
  unsigned long word = 0;
  unsigned long op = 0;
  unsigned long value = 0;
  if (std::sscanf(text.c_str(), "%ld %lx %lx %lx", &found.call, &word, &op, &value) != 4) return {};
  found.is_lock = found.call == SYS_futex;
#if defined(__GLIBC__) && (defined(__x86_64__) || defined(__aarch64__))
  // glibc's mutex begins with its lock word, a count and its owner, and waits for the lock word to change from 2. What
  // looks so may be something else, and end: so it is read through the kernel.
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

std::string as_seconds(std::chrono::nanoseconds time) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", std::chrono::duration<double>(time).count());
  return text;
}

/// The thread of `who` has slept in the kernel inside of one fiber for so long.
void tell_blocked(crew& c, worker& who, std::uint64_t beat, std::chrono::nanoseconds so_long) {
  const auto wait = kernel_wait_of(who.thread());
  const auto held_by = [&](const worker& one) { return wait.mutex_owner != 0 && wait.mutex_owner == one.thread(); };
  const auto number = std::to_string(who.index());
  std::string text = "shunt: a fiber has kept worker " + number + " for more than " + as_seconds(so_long) +
                     " s, and runs nothing: its thread waits in the kernel, ";
  if (held_by(who)) {
    text +=
        "for a mutex that the same thread holds already. It never ends: a fiber of this worker keeps a std::mutex "
        "over a wait (hold none over a wait), or locks one twice";
  } else if (wait.mutex_owner != 0) {
    const auto owner = std::find_if(c.workers.begin(), c.workers.end(), [&](const auto& one) { return held_by(*one); });
    text += "for a mutex that ";
    text += owner == c.workers.end() ? "thread " + std::to_string(wait.mutex_owner) + " holds"
                                     : "a fiber of worker " + std::to_string((*owner)->index()) + " holds";
  } else if (wait.is_lock) {
    text += "for another thread (a condition variable, a semaphore, a std::future, a join)";
  } else if (wait.call >= 0) {
    text += "in system call " + std::to_string(wait.call);
  } else {
    text += "for what cannot be seen";
  }
  text += ". Meanwhile none of this worker's fibers runs.\n";
  if (!wait.is_lock) {
    // A signal might end that call early, and nothing has asked us for that.
    return c.report(text + "Its stack: SIGUSR1, sched::report_fibers(), or a debugger, thread " +
                    std::to_string(who.thread()) + '\n');
  }
  const auto all = all_fibers();
  table t(all, most_beside);
  worker* const whom[] = {&who};
  look(whom, all, sheet::wish::all, t);
  if (who.beat() != beat || (t.listed() == 1 && wait.mutex_owner == 0)) return;  // it goes on; or keeps only itself
  c.report(text + t.take());
}

void find_stalls(watch& w, std::map<const worker*, stall_look>& looks) {
  for (crew* const c : w.crews) {
    const auto stall = c->settings.stall_after;
    const auto block = c->settings.blocked_after;
    if (stall <= 0ns && block <= 0ns) continue;
    for (const auto& each : c->workers) {
      auto& last = looks[each.get()];
      const auto beat = each->beat();
      const auto now = std::chrono::steady_clock::now();
      if (beat % 2 == 0 || beat != last.beat) {
        last = {};
        last.beat = beat;
        last.first = last.asleep = now;
        if (beat % 2 != 0 && block > 0ns) last.used = cpu_time_of(each->thread());
        continue;
      }
      // Two looks, here and below: one alone may follow long after the other, if the whole process was stopped between.
      if (stall > 0ns && ++last.looks >= 2 && now - last.first >= stall && !std::exchange(last.told_stall, true)) {
        const auto all = all_fibers();
        table t(all);
        worker* const whom[] = {each.get()};
        look(whom, all, sheet::wish::running_only, t);
        char limit[32];
        std::snprintf(limit, sizeof limit, "%g", std::chrono::duration<double, std::milli>(stall).count());
        if (each->beat() == beat) {
          c->report("shunt: a fiber has kept its worker for more than " + std::string(limit) + " ms\n" + t.take());
        }
      }
      if (block <= 0ns || last.told_block) continue;
      const auto used = cpu_time_of(each->thread());
      if (used < 0ns || used != last.used || !sleeps_in_kernel(each->thread())) {
        last.used = used;
        last.asleep = now;
        last.sleeps = 0;
      } else if (++last.sleeps >= 2 && now - last.asleep >= block) {
        last.told_block = true;
        tell_blocked(*c, *each, beat, block);
      }
    }
  }
}

bool looked_at(const crew& c) noexcept { return c.settings.stall_after > 0ns || c.settings.blocked_after > 0ns; }

/// Under the watch's lock. Nothing is looked at while no worker runs anything: the thread then sleeps until it is told.
/// Edge `up`: a worker says that it is awake, then looks whether we doze; we say that we doze, then look whether it
/// is awake. Both are sequentially consistent, so one of us sees the other.
bool doze_if_all_sleep(watch& w) noexcept {
  dozes.store(true, std::memory_order_seq_cst);
  for (const crew* const c : w.crews) {
    if (!looked_at(*c)) continue;
    for (const auto& each : c->workers) {
      if (each->sleeps()) continue;
      dozes.store(false, std::memory_order_relaxed);  // relaxed: a worker that saw it rings once too often
      return false;
    }
  }
  return true;
}

/// Who was asked to stop long ago, and runs on.
void find_deaf(watch& w) {
  for (crew* const c : w.crews) {
    if (c->stop_is_late() > std::chrono::steady_clock::now()) continue;
    c->told_late();
    c->report("shunt: asked to stop, and not ended. " + fibers_of_locked(*c));
  }
}

void* stand_watch(void*) {
  auto& w = the_watch();
  const int its_bell = bell.load(std::memory_order_seq_cst);  // made before this thread, and closed after it has ended
  std::map<const worker*, stall_look> looks;
  for (bool was_rung = true;;) {
    std::chrono::nanoseconds patience = std::chrono::nanoseconds::max();
    {
      const std::scoped_lock held(w.lock);
      // At most once between two timed looks: workers that fall asleep and wake up all the time must not ring each
      // time.
      const bool any = std::any_of(w.crews.begin(), w.crews.end(), [](const crew* c) { return looked_at(*c); });
      const bool all_asleep = any && !was_rung && doze_if_all_sleep(w);
      for (crew* const c : w.crews) {
        if (const auto late = c->stop_is_late(); late != late.max()) {
          patience = std::min<std::chrono::nanoseconds>(patience, late - std::chrono::steady_clock::now());
        }
        if (all_asleep) continue;
        for (const auto limit : {c->settings.stall_after, c->settings.blocked_after}) {
          if (limit > 0ns) patience = std::min(patience, std::max<std::chrono::nanoseconds>(limit / 2, 1ms));
        }
      }
    }
    pollfd heard{its_bell, POLLIN, 0};
    const time_limit limit(patience);
    ppoll(&heard, 1, limit.get(), nullptr);
    std::uint64_t rings = 0;
    const bool rung = (heard.revents & POLLIN) != 0 && read(its_bell, &rings, sizeof rings) == sizeof rings;
    was_rung = rung;
    dozes.store(false, std::memory_order_relaxed);  // relaxed: a worker that still sees it rings once too often
    const bool asked = rung && rings % news != 0;
    if (rung && rings >= the_end) {
      if (asked) say_nothing_runs();
      return nullptr;
    }
    try {
      const std::scoped_lock held(w.lock);
      if (asked) {
        for (crew* c : w.crews) c->report("shunt: " + fibers_of_locked(*c));
        if (w.crews.empty()) say_nothing_runs();
      }
      find_stalls(w, looks);
      find_deaf(w);
    } catch (...) {  // no memory: no report
    }
  }
}

/// H1
void take_bell_away() noexcept {
  const int old = bell.exchange(-1, std::memory_order_seq_cst);
  while (ringing.load(std::memory_order_seq_cst) != 0) std::this_thread::yield();
  close(old);
}

/// In one's turn. Failures leave the process without a watch: reports by call are still there.
void begin_watch(watch& w) noexcept {
  if (bell_now() >= 0) return;
  const std::scoped_lock held(w.bell_lock);
  const int made = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (made < 0) return;
  bell.store(made, std::memory_order_seq_cst);  // H1
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);  // its thread takes no signal of the program's
  const bool stands = pthread_create(&w.thread, nullptr, stand_watch, nullptr) == 0;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (!stands) take_bell_away();
}

/// In one's turn.
void end_watch(watch& w) noexcept {
  if (bell_now() < 0) return;
  ring(bell_now(), the_end);
  pthread_join(w.thread, nullptr);
  const std::scoped_lock held(w.bell_lock);
  take_bell_away();
}

/// In one's turn. After a fork neither the parent's runs nor its thread are here.
void forget_parent(watch& w) noexcept {
  // relaxed, all: no other thread is here yet that has anything to do with it
  if (process.load(std::memory_order_relaxed) == getpid()) return;
  w.crews.clear();
  ringing.store(0, std::memory_order_relaxed);  // a parent's thread may have been amid its handler
  dozes.store(false, std::memory_order_relaxed);
  if (bell_now() >= 0) close(bell_now());
  bell.store(-1, std::memory_order_relaxed);
  process.store(getpid(), std::memory_order_seq_cst);  // H2
}

#endif

}  // namespace

watched::watched(crew& of) noexcept : of_(nullptr) {
  auto& w = the_watch();
  const std::scoped_lock my_turn(w.turn);
#if defined(__linux__)
  forget_parent(w);
#endif
  try {
    const std::scoped_lock held(w.lock);
    w.crews.push_back(&of);
    of_ = &of;
  } catch (...) {  // no memory: then it is not reported
    return;
  }
#if defined(__linux__)
  if (of.settings.decides != nullptr) return;  // one thread, that may be a fork's: no other one beside it
  begin_watch(w);
  take_signal();  // the program may have put the default action back
  if (bell_now() >= 0) ring(bell_now(), news);
#endif
}

watched::~watched() {
  if (of_ == nullptr) return;
  auto& w = the_watch();
  const std::scoped_lock my_turn(w.turn);
  bool last = false;
  {
    const std::scoped_lock held(w.lock);
    w.crews.erase(std::find(w.crews.begin(), w.crews.end(), of_));
    last = w.crews.empty();
  }
#if defined(__linux__)
  if (last) end_watch(w);
#endif
}

void add_note_source(note_source source) noexcept {
  for (auto& each : note_sources) {
    note_source seen = nullptr;
    // release: pairs with table's load
    if (each.compare_exchange_strong(seen, source, std::memory_order_release, std::memory_order_relaxed) ||
        seen == source)
      return;
  }
}

void wake_the_watch() noexcept {
#if defined(__linux__)
  // Once for each doze. relaxed: the look that counts was watch_dozes()'s.
  if (dozes.exchange(false, std::memory_order_relaxed)) news_for_the_watch();
#endif
}

void news_for_the_watch() noexcept {
#if defined(__linux__)
  auto& w = the_watch();
  const std::scoped_lock held(w.bell_lock);
  if (bell_now() >= 0) ring(bell_now(), news);
#endif
}

bool none_can_wake([[maybe_unused]] crew& of) noexcept {
#if defined(__linux__)
  auto& w = the_watch();
  const std::scoped_lock held(w.lock);
  if (w.crews.size() != 1 || w.crews.front() != &of) return false;
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
  if (number != of.workers.size() + (bell_now() >= 0 ? 1 : 0)) return false;
  // A handler may wake a fiber. Not so ours, those of faults, and the C library's own two, which begin at 32.
  const auto bit = [](int signal) { return 1ULL << (signal - 1); };
  for (const int fault : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGABRT, SIGSYS, 32, 33}) signals &= ~bit(fault);
  struct sigaction now{};
  if (sigaction(SIGUSR1, nullptr, &now) == 0 && (now.sa_flags & SA_SIGINFO) == 0 && now.sa_handler == on_user_signal) {
    signals &= ~bit(SIGUSR1);
  }
  return signals == 0;
#else
  return false;
#endif
}

std::string fibers_of(crew& of) {
  const std::scoped_lock held(the_watch().lock);
  return fibers_of_locked(of);
}

// --- the worker's part ---

void worker::answer_census() noexcept {
  if (!census_.take()) return;
  fill_census(true);
  census_.finished();
}

void worker::answer_census(std::uintptr_t sp) noexcept {
  if (!census_.take()) return;
  // Where the running fiber's own code was interrupted no switch is under way: all others' stacks
  // are complete.
  const fiber* const runs = running();
  const auto low = runs == nullptr ? 0 : reinterpret_cast<std::uintptr_t>(runs->stack.low);
  const bool between = low == 0 || sp < low || sp - low >= runs->stack.bytes || ready.moves();
  fill_census(!between);
  if (between) census_.leave_stacks_out();
  census_.finished();
}

void worker::fill_census(bool stacks) noexcept {
  look_at_clock();
  if (stacks) ready.show_places();
  const fiber* const runs = running();
  for (const fiber_slab slab : census_.of()) {
    for (fiber& f : slab) {
      if (f.where() != post_ || !f.started) continue;  // F4
      const bool is_running = &f == runs;
      if (census_.what() == sheet::wish::running_only && !is_running) continue;
      fiber_record* const r = census_.next();
      if (r == nullptr) return;
      *r = {};
      r->who = &f;
      r->doing = is_running         ? fiber_record::state::running
                 : f.state.parked() ? fiber_record::state::parked
                                    : fiber_record::state::ready;
      r->has_deadline = f.timer != fiber::no_timer;
      const auto keep = [](std::string_view text, auto& room) {
        std::copy_n(text.data(), std::min(text.size(), room.size() - 1), room.data());
      };
      keep(f.called(), r->name);
      if (r->doing == fiber_record::state::parked) keep(f.waits_for == nullptr ? "a wake" : f.waits_for, r->waits_for);
      r->waits_on = f.waits_on.load(std::memory_order_relaxed);  // relaxed: for people
      r->parked_ms = now_ms_ - f.since;
      if (const auto* const work = work_of(f)) {
        if (note_text* const note = census_.next_note()) {
          work->write(*work, now_ms_, *note);
          if (!note->text().empty()) r->work = note;
        }
      }
      r->stack_bytes = f.stack.bytes;
      if (!stacks) continue;
      const auto low = reinterpret_cast<std::uintptr_t>(f.stack.low);
      if (is_running) {
        r->frame_count = static_cast<std::uint8_t>(context::backtrace(r->frames));
      } else {
        r->frame_count = static_cast<std::uint8_t>(context::backtrace(f.run, r->frames));
        r->stack_used = low + f.stack.bytes - reinterpret_cast<std::uintptr_t>(f.run.sp);
      }
    }
  }
}

}  // namespace detail

std::string report_fibers() {
  auto& w = detail::the_watch();
  const std::scoped_lock held(w.lock);
  std::string all;
  for (detail::crew* c : w.crews) all += detail::fibers_of_locked(*c);
  return all.empty() ? "no runtime runs\n" : all;
}

}  // namespace sched
}  // namespace v1
}  // namespace shunt
