#include <shunt/sched/detail/watchman.hpp>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
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
#include <shunt/sched/report.hpp>

#if defined(__linux__)
#include <csignal>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>
#endif

namespace shunt {
inline namespace v1 {
namespace sched {
namespace detail {
namespace {

using namespace std::chrono_literals;

constexpr auto until_signal = 100ms;  // for a worker's loop to answer
constexpr auto until_given_up = 2s;   // long after the signal: a busy machine may leave a thread without a CPU for a while
constexpr auto between_looks = 50us;
constexpr std::size_t slabs_at_once = 64;
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
  int bell = -1;  // eventfd: SIGUSR1, news, or the end; -1: no thread
  std::mutex bell_lock;  // for those who ring without a turn: it is not closed meanwhile
  pthread_t thread{};
  pid_t process = 0;  // whose thread it is: a fork leaves it behind
  bool takes_signal = false;
  struct sigaction before {};
#endif
};

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
    struct sigaction ours {};
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
  struct sigaction before_ {};
};
#else
struct interrupter {
  void interrupt(const worker&) const noexcept {}
};
#endif

/// The text about one crew.
class table {
 public:
  explicit table(std::span<const fiber_slab> all) : all_(all) {
    for (std::size_t i = 0; i < all.size(); ++i) numbers_[all[i].data()] = i * all[i].size();
  }

  void add(const worker& where, const fiber_record& r) {
    ++listed_;
    text_ += "fiber " + number(r.who) + name(r) + ", worker " + std::to_string(where.index()) + ", ";
    switch (r.doing) {
      case fiber_record::state::running: text_ += "running"; break;
      case fiber_record::state::ready: text_ += "ready"; break;
      case fiber_record::state::parked:
        text_ += "parked for " + seconds(r.parked_ms) + ": waits for " + r.waits_for.data();
        if (r.waits_on != nullptr) text_ += ", of fiber " + number(r.waits_on);
        if (r.has_deadline) text_ += ", until a time";
        break;
    }
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
  void say(const std::string& line) { text_ += line + '\n'; }

  [[nodiscard]] std::size_t listed() const noexcept { return listed_; }
  [[nodiscard]] std::string take() { return std::move(text_); }

 private:
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
    for (auto at = function.find(inner); at != std::string::npos; at = function.find(inner, at)) function.erase(at + 7, 4);
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
  symbols names_;
  std::string text_;
  std::size_t listed_ = 0;
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
          if (first == 0) into.say("worker " + std::to_string(w.index()) + " does not answer: its thread does not run, or holds signals off");
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

void ring(const watch& w, std::uint64_t what) noexcept {
  if (write(w.bell, &what, sizeof what) < 0) return;  // cannot fail but for "full": it rings loud enough
}

void on_user_signal(int) {
  const int kept = errno;
  ring(the_watch(), signal_came);
  errno = kept;
}

/// Who is between the same two switches as at the last look, and has been reported for it.
struct stall_look {
  std::uint64_t beat = 0;
  int looks = 0;
};

void find_stalls(watch& w, std::map<const worker*, stall_look>& looks) {
  for (crew* const c : w.crews) {
    if (c->settings.stall_after <= 0ns) continue;
    for (const auto& each : c->workers) {
      auto& last = looks[each.get()];
      const auto beat = each->beat();
      if (beat % 2 == 0 || beat != last.beat) {
        last = {beat, 0};
      } else if (++last.looks == 2) {
        const auto all = all_fibers();
        table t(all);
        worker* const whom[] = {each.get()};
        look(whom, all, sheet::wish::running_only, t);
        char limit[32];
        std::snprintf(limit, sizeof limit, "%g", std::chrono::duration<double, std::milli>(c->settings.stall_after).count());
        if (each->beat() == beat) {
          c->report("shunt: a fiber has kept its worker for more than " + std::string(limit) + " ms\n" + t.take());
        }
      }
    }
  }
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
  std::map<const worker*, stall_look> looks;
  for (;;) {
    std::chrono::nanoseconds patience = std::chrono::nanoseconds::max();
    {
      const std::scoped_lock held(w.lock);
      for (crew* const c : w.crews) {
        if (const auto late = c->stop_is_late(); late != late.max()) {
          patience = std::min<std::chrono::nanoseconds>(patience, late - std::chrono::steady_clock::now());
        }
        if (c->settings.stall_after > 0ns) patience = std::min(patience, std::max<std::chrono::nanoseconds>(c->settings.stall_after / 2, 1ms));
      }
    }
    pollfd bell{w.bell, POLLIN, 0};
    const time_limit limit(patience);
    ppoll(&bell, 1, limit.get(), nullptr);
    std::uint64_t rings = 0;
    const bool rung = (bell.revents & POLLIN) != 0 && read(w.bell, &rings, sizeof rings) == sizeof rings;
    if (rung && rings >= the_end) return nullptr;
    try {
      const std::scoped_lock held(w.lock);
      if (rung && rings % news != 0) {
        for (crew* c : w.crews) c->report("shunt: " + fibers_of_locked(*c));
      }
      find_stalls(w, looks);
      find_deaf(w);
    } catch (...) {  // no memory: no report
    }
  }
}

/// In one's turn. Failures leave the process without a watch: reports by call are still there.
void begin_watch(watch& w) noexcept {
  if (w.bell >= 0) return;
  const std::scoped_lock held(w.bell_lock);
  w.bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (w.bell < 0) return;
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);  // its thread takes no signal of the program's
  const bool stands = pthread_create(&w.thread, nullptr, stand_watch, nullptr) == 0;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (!stands) {
    close(w.bell);
    w.bell = -1;
  }
}

/// In one's turn.
void end_watch(watch& w) noexcept {
  if (w.bell < 0) return;
  ring(w, the_end);
  pthread_join(w.thread, nullptr);
  const std::scoped_lock held(w.bell_lock);
  close(w.bell);
  w.bell = -1;
}

/// In one's turn. After a fork neither the parent's runs nor its thread are here.
void forget_parent(watch& w) noexcept {
  if (w.process == getpid()) return;
  w.process = getpid();
  w.crews.clear();
  if (w.bell >= 0) close(w.bell);
  w.bell = -1;
}

void take_signal(watch& w) noexcept {
  if (w.bell < 0 || w.takes_signal) return;
  struct sigaction now {};
  if (sigaction(SIGUSR1, nullptr, &now) != 0 || (now.sa_flags & SA_SIGINFO) != 0 || now.sa_handler != SIG_DFL) return;
  struct sigaction ours {};
  ours.sa_handler = on_user_signal;
  ours.sa_flags = SA_RESTART | SA_ONSTACK;
  sigemptyset(&ours.sa_mask);
  w.before = now;
  w.takes_signal = sigaction(SIGUSR1, &ours, nullptr) == 0;
}

void give_signal_back(watch& w) noexcept {
  if (!w.takes_signal) return;
  w.takes_signal = false;
  struct sigaction now {};
  if (sigaction(SIGUSR1, nullptr, &now) == 0 && (now.sa_flags & SA_SIGINFO) == 0 && now.sa_handler == on_user_signal) {
    sigaction(SIGUSR1, &w.before, nullptr);  // unless somebody has put another one there
  }
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
  take_signal(w);
  if (of.settings.stall_after > 0ns && w.bell >= 0) ring(w, news);
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
  if (!last) return;
  give_signal_back(w);
  end_watch(w);
#endif
}

void news_for_the_watch() noexcept {
#if defined(__linux__)
  auto& w = the_watch();
  const std::scoped_lock held(w.bell_lock);
  if (w.bell >= 0) ring(w, news);
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
      r->doing = is_running ? fiber_record::state::running
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
