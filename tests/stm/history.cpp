/// Random programs of transactions under a scheduler that lets one thread run at a time, and may switch threads
/// whenever the engine looks at something shared. Every attempt is recorded, undone ones too, and the history is
/// checked for opacity.
///
/// The check: nodes are attempts. Each value is written once, and an attempt that writes a variable has read it before,
/// so the attempts that wrote and replaced a value are known. Edges: from the writer of a value to its readers; from a
/// reader of a value to the (committed) attempt that replaced it; from an attempt that ended to those that began later.
/// A history is opaque if the graph has no cycle. Source: Guerraoui, Kapałka: On the correctness of transactional
/// memory, PPoPP 2008, doi:10.1145/1345206.1345233.
///
/// Compiled with a flaw (stm/detail/engine/word.hpp) the program must find a history that is not opaque, or a lost
/// wake: exit 0 in that case, too.
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <random>
#include <set>
#include <shunt/stm.hpp>
#include <string>
#include <thread>
#include <vector>

#include "../../src/shunt/stm/atomically.cpp"
#include "../../src/shunt/stm/detail/engine/attempt.cpp"
#include "../../src/shunt/stm/detail/engine/commit.cpp"
#include "../../src/shunt/stm/detail/engine/commute_log.cpp"
#include "../../src/shunt/stm/detail/engine/participant.cpp"
#include "../../src/shunt/stm/detail/engine/read_log.cpp"
#include "../../src/shunt/stm/detail/engine/reclaimer.cpp"
#include "../../src/shunt/stm/detail/engine/registry.cpp"
#include "../../src/shunt/stm/detail/engine/transaction.cpp"
#include "../../src/shunt/stm/detail/engine/waiter.cpp"
#include "../../src/shunt/stm/detail/engine/waiters.cpp"
#include "../../src/shunt/stm/detail/engine/write_log.cpp"
#include "../../src/shunt/stm/detail/policy/admission.cpp"
#include "../../src/shunt/stm/detail/policy/class_record.cpp"
#include "../../src/shunt/stm/detail/policy/policies.cpp"
#include "../../src/shunt/stm/statistics.cpp"
#include "../../src/shunt/stm/transaction_class.cpp"
#include "../../src/shunt/stm/tx.cpp"

namespace {

constexpr int threads = 3;
constexpr bool flawed = SHUNT_STM_FLAW != 0;

[[noreturn]] void found(const char* what) {
  std::printf("found: %s\n", what);
  std::fflush(stdout);
  std::_Exit(flawed ? 0 : 1);
}

/// Lets one of the program's threads run; chance decides at each point which one.
class baton {
 public:
  void begin(int count, unsigned seed) {
    random_.seed(seed);
    states_.assign(static_cast<std::size_t>(count), {});
    turn_ = 0;
  }
  void enter(int me) {
    me_ = me;
    std::unique_lock held(lock_);
    changed_.wait(held, [&] { return turn_ == me; });
  }
  void leave() {
    std::unique_lock held(lock_);
    states_[static_cast<std::size_t>(me_)].over = true;
    me_ = -1;
    pass_on();
  }
  void point() {
    if (me_ < 0) return;
    time_.store(time_.load() + step);  // only the thread that has the turn counts and draws
    if (random_() % 3 != 0) return;
    std::unique_lock held(lock_);
    pass_on();
    changed_.wait(held, [&] { return turn_ == me_; });
  }
  /// The program's own time: it advances with the points that were passed, so the engine depends on the seed only.
  [[nodiscard]] std::chrono::steady_clock::time_point time() const { return time_.load(); }
  bool sleep(const std::atomic<std::uint32_t>& word) {
    if (me_ < 0) return false;
    std::unique_lock held(lock_);
    auto& mine = states_[static_cast<std::size_t>(me_)];
    mine.asleep_on = &word;
    pass_on();
    changed_.wait(held, [&] { return turn_ == me_; });
    mine.asleep_on = nullptr;
    return true;
  }

 private:
  struct state {
    bool over = false;
    const std::atomic<std::uint32_t>* asleep_on = nullptr;
  };
  void pass_on() {
    std::vector<int> may;
    bool all_over = true;
    for (std::size_t i = 0; i < states_.size(); ++i) {
      all_over = all_over && states_[i].over;
      if (!states_[i].over && (states_[i].asleep_on == nullptr || states_[i].asleep_on->load() != 0))
        may.push_back(static_cast<int>(i));
    }
    if (may.empty() && !all_over) found("a lost wake: all remaining threads sleep");
    if (may.empty()) return;
    turn_ = may[random_() % may.size()];
    changed_.notify_all();
  }
  std::mutex lock_;
  std::condition_variable changed_;
  std::vector<state> states_;
  std::mt19937 random_;
  int turn_ = 0;
  static constexpr std::chrono::microseconds step{20};
  std::atomic<std::chrono::steady_clock::time_point> time_{};  // of all programs
  static thread_local int me_;
};
thread_local int baton::me_ = -1;
baton the_baton;

struct step {
  int variable;
  long value;
};
struct attempt {
  long begun = 0, ended = 0;
  bool committed = false;
  std::vector<step> reads, writes;  // reads: the first of each variable
};

// Touched only by the thread that has the turn.
std::vector<attempt> history;
long now = 0;
long last_value = 0;

struct three_words {
  long a, b, c;
};
struct boxed {
  explicit boxed(long v) : value(v), text(std::to_string(v)) {}
  long value;
  std::string text;
};

struct variables {
  shunt::tvar<long> first{0}, second{0};
  shunt::tvar<three_words> third{{0, 0, 0}};
  shunt::tvar<boxed> fourth{boxed(0)};

  template <typename Tx>
  long read(Tx& t, int which) const {
    if (which == 0) return t.read(first);
    if (which == 1) return t.read(second);
    if (which == 2) {
      const auto w = t.read(third);
      if (w.a != w.b || w.b != w.c) found("half a value");
      return w.a;
    }
    return t.read(fourth).value;
  }
  void write(shunt::tx& t, int which, long v) {
    if (which == 0) t.write(first, v);
    if (which == 1) t.write(second, v);
    if (which == 2) t.write(third, {v, v, v});
    if (which == 3) t.write(fourth, boxed(v));
  }
};
constexpr int variable_count = 4;

void one_transaction(variables& all, std::mt19937& random) {
  struct action {
    int variable;
    bool writes;
  };
  std::vector<action> actions(1 + random() % 4);
  const bool read_only = random() % 4 == 0;
  for (auto& a : actions) a = {static_cast<int>(random() % variable_count), !read_only && random() % 2 == 0};
  const bool as_snapshot = read_only && random() % 2 == 0;
  long begun = ++now;
  std::size_t current = 0;
  const auto body = [&](auto& t) {
    current = history.size();
    history.push_back({});
    history[current].begun = begun;
    std::map<int, long> seen;
    if constexpr (std::is_same_v<decltype(t), shunt::tx&>) {
      t.on_abort([&] { begun = history[current].ended = ++now; });
    }
    for (const auto& a : actions) {
      const long value = all.read(t, a.variable);
      if (seen.count(a.variable) == 0) {
        history[current].reads.push_back({a.variable, value});
      } else if (seen[a.variable] != value) {
        found("not its own value");
      }
      seen[a.variable] = value;
      if constexpr (std::is_same_v<decltype(t), shunt::tx&>) {
        if (!a.writes) continue;
        seen[a.variable] = ++last_value;
        history[current].writes.push_back({a.variable, last_value});
        all.write(t, a.variable, last_value);
      }
    }
  };
  if (as_snapshot) {
    shunt::snapshot([&](shunt::ro_tx& t) { body(t); });
  } else {
    shunt::atomically([&](shunt::tx& t) { body(t); });
  }
  history[current].committed = true;
  history[current].ended = ++now;
}

void check_history() {
  const auto count = history.size();
  std::map<std::pair<int, long>, std::size_t> writer;    // the attempt that committed that value
  std::map<std::pair<int, long>, std::size_t> replacer;  // the attempt that read it and committed another one
  for (std::size_t i = 0; i < count; ++i) {
    const auto& a = history[i];
    if (!a.committed) continue;
    std::map<int, long> last;
    for (const auto& w : a.writes) last[w.variable] = w.value;
    for (const auto& [variable, value] : last) writer[{variable, value}] = i;
    for (const auto& r : a.reads) {
      if (last.count(r.variable) != 0 && !replacer.emplace(std::pair(r.variable, r.value), i).second)
        found("a lost update");
    }
  }
  std::vector<std::set<std::size_t>> edges(count);
  for (std::size_t i = 0; i < count; ++i) {
    for (const auto& r : history[i].reads) {
      const std::pair key(r.variable, r.value);
      if (r.value != 0 && writer.count(key) == 0) found("a value that no attempt committed");
      if (r.value != 0 && writer[key] != i) edges[writer[key]].insert(i);
      if (const auto next = replacer.find(key); next != replacer.end() && next->second != i)
        edges[i].insert(next->second);
    }
    for (std::size_t k = 0; k < count; ++k) {
      if (history[i].ended != 0 && history[i].ended < history[k].begun) edges[i].insert(k);
    }
  }
  std::vector<int> state(count, 0);
  const std::function<void(std::size_t)> visit = [&](std::size_t i) {
    state[i] = 1;
    for (const auto k : edges[i]) {
      if (state[k] == 1) found("a history that is not opaque");
      if (state[k] == 0) visit(k);
    }
    state[i] = 2;
  };
  for (std::size_t i = 0; i < count; ++i) {
    if (state[i] == 0) visit(i);
  }
}

void run(unsigned seed, const std::function<void(int, std::mt19937&)>& program) {
  history.clear();
  now = last_value = 0;
  the_baton.begin(threads, seed);
  std::vector<std::thread> all;
  for (int i = 0; i < threads; ++i) {
    all.emplace_back([&, i] {
      the_baton.enter(i);
      std::mt19937 random(seed * 31 + static_cast<unsigned>(i));
      program(i, random);
      // What a thread gives back at its end must not fall into another thread's turn.
      the_baton.leave();
    });
  }
  for (auto& t : all) t.join();
}

}  // namespace

namespace shunt {
inline namespace v1 {
namespace stm::detail {
void test_point() noexcept { the_baton.point(); }
bool test_wait(const std::atomic<std::uint32_t>& until_not_0) noexcept { return the_baton.sleep(until_not_0); }
std::chrono::steady_clock::time_point now() noexcept { return the_baton.time(); }
}  // namespace stm::detail
}  // namespace v1
}  // namespace shunt

int main() {
  constexpr unsigned programs = 3000;
  // Without the policies that end conflicts by waiting: conflicts are what is looked for.
  shunt::stm::policies p{.adapt = false, .queue_losers = false, .oldest_first = false};
  std::size_t attempts = 0, undone = 0;
  for (unsigned seed = 1; seed <= programs; ++seed) {
    p.exclusive = seed % 2 == 0;
    shunt::stm::set_policies(p);
    variables all;
    run(seed, [&](int, std::mt19937& random) {
      for (int i = 0; i < 3; ++i) one_transaction(all, random);
    });
    check_history();
    attempts += history.size();
    for (const auto& a : history) undone += a.committed ? 0 : 1;

    shunt::tvar<int> gate{0}, other{0};
    run(seed, [&](int me, std::mt19937&) {
      if (me == 0) {
        shunt::atomically([&](shunt::tx& t) { t.check(t.read(gate) + t.read(other) == 2); });
      } else {
        (me == 1 ? gate : other).update([](int v) { return v + 1; });
      }
    });
  }
  std::printf("%u programs, %zu attempts, %zu of them undone: all opaque\n", programs, attempts, undone);
  return flawed ? 1 : 0;
}
