// What reports say: every fiber, where it is, and why nothing goes on.
#include <shunt/context/switch.hpp>
#include <shunt/sched.hpp>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include <unistd.h>
#include <csignal>

#include <semaphore>

#include <catch2/catch.hpp>

#include <shunt/base/environment.hpp>
#include <shunt/base/sanitizers.hpp>
#include <shunt/sched/observe/report_notes.hpp>
#include <support/process.hpp>

using namespace shunt;
using namespace std::chrono_literals;
namespace this_fiber = sched::this_fiber;

namespace {

#if defined(SHUNT_CONTEXT_BOOST)
constexpr bool stacks_are_known = false;
#else
constexpr bool stacks_are_known = true;
#endif

/// What a runtime has reported.
class reports {
 public:
  [[nodiscard]] auto sink() {
    return [this](std::string_view text) {
      const std::scoped_lock held(lock_);
      texts_.emplace_back(text);
    };
  }
  [[nodiscard]] std::vector<std::string> all() {
    const std::scoped_lock held(lock_);
    return texts_;
  }

 private:
  std::mutex lock_;
  std::vector<std::string> texts_;
};

bool says(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

sched::options with(int workers) {
  sched::options o;
  o.workers = workers;
  return o;
}

std::atomic<int> calls{0};  // so that no compiler ends a frame before its call

[[gnu::noinline]] void waits_for_the_gate(const std::atomic<bool>& open) {
  while (!open) this_fiber::park("the gate");
  ++calls;
}
[[gnu::noinline]] void waits_below(const std::atomic<bool>& open) {
  waits_for_the_gate(open);
  ++calls;
}

[[gnu::noinline]] void keeps_its_worker(const std::atomic<bool>& open) {
  while (!open) ++calls;
  ++calls;
}

}  // namespace

TEST_CASE("report_fibers: names every started fiber with its state, its reason, and its stack") {
  for (const int workers : {1, 3}) {
    sched::runtime rt(with(workers));
    std::string text;
    std::atomic<bool> open{false};
    std::atomic<int> inside{0};
    std::mutex lock;
    std::vector<sched::waker> sleepers;
    rt.run([&] {
      constexpr int count = 300;  // more blocks than a slab has
      for (int i = 0; i < count; ++i) {
        sched::spawn_options where;
        where.worker = i % workers;
        if (i != 7) where.name = "sleeper " + std::to_string(i);
        rt.spawn(
            [&] {
              {
                const std::scoped_lock held(lock);
                sleepers.push_back(this_fiber::self());
              }
              ++inside;
              waits_below(open);
            },
            where);
      }
      while (inside < count) this_fiber::yield();
      rt.spawn([] {}, {.worker = 0, .name = "never before the report"});
      text = sched::report_fibers();
      open = true;
      for (const auto& s : sleepers) s.wake();
    });
    INFO(text);
    CHECK(says(text, "runtime of " + std::to_string(workers) + " worker"));
    CHECK(says(text, "302 fibers, 1 of them not started"));
    for (const int i : {0, 1, 299})
      CHECK(says(text, " `sleeper " + std::to_string(i) + "`, worker " + std::to_string(i % workers)));
    CHECK_FALSE(says(text, "sleeper 7`"));
    // One that has just gone to park on another worker may still be on its way.
    CHECK(count_of(text, ": waits for the gate; stack ") + count_of(text, ", ready; stack ") +
              count_of(text, ", running; stack ") ==
          301);
    CHECK(says(text, "`root`, worker 0, running"));
    if (stacks_are_known) {
      const auto inner = text.find("waits_for_the_gate");
      CHECK(inner != std::string::npos);
      CHECK(text.find("waits_below", inner) != std::string::npos);
      CHECK(says(text, ", as fiber "));
    }
  }
}

namespace {
[[gnu::noinline]] void yields_in_the_ring(const bool& open) {
  while (!open) this_fiber::yield();
  ++calls;
}
}  // namespace

TEST_CASE("report_fibers: shows where fibers stand that have done nothing but yield for many rounds") {
  sched::runtime rt(with(1));
  std::string text;
  bool open = false;
  rt.run([&] {
    constexpr int count = 20;
    for (int i = 0; i < count; ++i) rt.spawn([&] { yields_in_the_ring(open); }, {.worker = 0});
    for (int i = 0; i < 100 * count; ++i) this_fiber::yield();
    text = sched::report_fibers();
    for (int i = 0; i < 100; ++i) this_fiber::yield();  // they go on from where they were
    open = true;
  });
  INFO(text);
  CHECK(count_of(text, ", ready; stack ") == 20);
  if (stacks_are_known) CHECK(count_of(text, "yields_in_the_ring") + count_of(text, ", as fiber ") >= 20);
}

TEST_CASE("report_fibers: also of a fiber that never lets its worker go, and of that worker's others") {
  sched::runtime rt(with(2));
  std::string text;
  std::atomic<bool> open{false};
  std::atomic<int> inside{0};
  sched::waker sleeper;
  rt.run([&] {
    rt.spawn(
        [&] {
          sleeper = this_fiber::self();
          ++inside;
          waits_below(open);
        },
        {.worker = 1, .name = "beside it"});
    while (inside < 1) this_fiber::yield();
    const int before = calls;
    rt.spawn([&] { keeps_its_worker(open); }, {.worker = 1, .name = "hog"});
    while (calls == before) this_fiber::yield();  // it is there
    text = sched::report_fibers();
    open = true;
    sleeper.wake();
  });
  INFO(text);
  CHECK(says(text, "`hog`, worker 1, running"));
  CHECK(says(text, "`beside it`, worker 1, parked"));
  if (stacks_are_known) CHECK(says(text, "waits_below"));
  CHECK(says(text, "keeps_its_worker"));
}

namespace {
int known_to_the_source = 0;  // plain: edge `source`
}  // namespace

TEST_CASE("report_notes: a source that another thread has added reads what that thread wrote before") {
  std::atomic<bool> added{false};
  std::thread adds([&] {
    known_to_the_source = 1;
    sched::detail::add_note_source([](sched::detail::wait_notes& to) {
      if (known_to_the_source == 1) to[nullptr] = ", told";
    });
    added.store(true, std::memory_order_relaxed);  // relaxed: it orders nothing
  });
  while (!added.load(std::memory_order_relaxed)) std::this_thread::yield();
  sched::detail::wait_notes notes;
  sched::detail::ask_note_sources(notes);
  CHECK(notes[nullptr] == ", told");
  adds.join();
}

TEST_CASE("report_fibers: without a runtime that runs") { CHECK(sched::report_fibers() == "no runtime runs\n"); }

TEST_CASE("SIGUSR1 reports every fiber while a runtime runs") {
  reports seen;
  auto o = with(1);
  o.report = seen.sink();
  o.stuck_after = 0ns;
  struct sigaction by_default{};
  struct sigaction before{};
  by_default.sa_handler = SIG_DFL;  // the parent may have had it ignored
  REQUIRE(sigaction(SIGUSR1, &by_default, &before) == 0);
  {
    sched::runtime rt(o);
    rt.run([&] {
      REQUIRE(kill(getpid(), SIGUSR1) == 0);
      while (seen.all().empty()) this_fiber::yield();
    });
  }
  CHECK(says(seen.all().front(), "`root`, worker 0"));
  struct sigaction now{};
  REQUIRE(sigaction(SIGUSR1, &before, &now) == 0);
  CHECK(now.sa_handler != SIG_DFL);  // it would end the process that does something else now
}

// --- programs of their own: this_program_runs() ---

TEST_CASE("program: gets SIGUSR1 in and outside of runs", "[.child]") {
  raise(SIGUSR1);  // nothing of the library has been called yet
  {
    std::atomic<int> told{0};
    auto o = with(2);
    o.report = [&](std::string_view) { ++told; };
    sched::runtime rt(o);
    raise(SIGUSR1);
    for (int run = 1; run <= 3; ++run) {
      rt.run([&] {
        raise(SIGUSR1);
        while (told < run) this_fiber::yield();
      });
      raise(SIGUSR1);
    }
    CHECK(told == 3);
  }
  raise(SIGUSR1);
  struct first final : sched::strategy {
    std::size_t choose(const moment&) noexcept override { return 0; }
    std::size_t choose_among(std::size_t) noexcept override { return 0; }
    void stuck(std::string_view) noexcept override {}
  } decides;
  sched::options o;
  o.strategy = &decides;
  sched::runtime(o).run([] { raise(SIGUSR1); });
  const pid_t child = fork();
  if (child == 0) {
    raise(SIGUSR1);
    _exit(5);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 5);
}

TEST_CASE("SIGUSR1 never ends a program that has the library: where nothing runs it is told so") {
  const auto child = shunt::testing::this_program_runs("program: gets SIGUSR1 in and outside of runs");
  INFO(child.said);
  CHECK(child.ended_with(0));
  CHECK(count_of(child.said, "got SIGUSR1; no runtime runs in it now, so there are no fibers to report\n") == 7);
  CHECK(count_of(child.said, "got SIGUSR1; a strategy decides what runs in it") == 1);
}

TEST_CASE("program: ignores SIGUSR1", "[.child]") {
  sched::runtime(with(1)).run([] { raise(SIGUSR1); });
  struct sigaction now{};
  REQUIRE(sigaction(SIGUSR1, nullptr, &now) == 0);
  CHECK(now.sa_handler == SIG_IGN);
}

TEST_CASE("SIGUSR1: stays ignored in a program that was started so") {
  struct sigaction ignored{};
  struct sigaction before{};
  ignored.sa_handler = SIG_IGN;
  REQUIRE(sigaction(SIGUSR1, &ignored, &before) == 0);
  const auto child = shunt::testing::this_program_runs("program: ignores SIGUSR1");
  REQUIRE(sigaction(SIGUSR1, &before, nullptr) == 0);
  INFO(child.said);
  CHECK(child.ended_with(0));
  CHECK_FALSE(child.says("SIGUSR1;"));
}

TEST_CASE("program: keeps a std::mutex over a wait", "[.child]") {
  static std::mutex held;
  sched::runtime rt(with(1));
  rt.run([&] {
    rt.spawn(
        [] {
          const std::scoped_lock mine(held);
          this_fiber::sleep_for(1ms);
        },
        {.worker = 0, .name = "keeps it"});
    rt.spawn([] { const std::scoped_lock mine(held); }, {.worker = 0, .name = "wants it"});
  });
}

TEST_CASE("a std::mutex that a fiber keeps over a wait is told by default: which fiber keeps the worker, and where") {
#if defined(SHUNT_TSAN)  // which may hold signals off where a mutex is waited for: then the fibers cannot be asked
  constexpr bool answers = false;
#else
  const bool answers = shunt::testing::emulator().empty();  // the kernel numbers its calls as the other machine does
#endif
  const auto child = shunt::testing::this_program_runs("program: keeps a std::mutex over a wait",
                                                       answers ? "`keeps it`, worker 0, parked" : "\n");
  INFO(child.said);
  CHECK(child.says("shunt: a fiber has kept worker 0 for more than 5 s"));
  CHECK(count_of(child.said, "has kept worker") == 1);
  if (!shunt::testing::emulator().empty()) return;
#if defined(__GLIBC__)
  CHECK(child.says("for a mutex that the same thread holds already"));
#endif
  if (answers) CHECK(child.says("`wants it`, worker 0, running"));
}

TEST_CASE("a fiber whose thread sleeps in the kernel is told with its stack and the fibers that it keeps, once") {
  std::binary_semaphore comes{0};
  reports seen;
  auto o = with(2);
  o.blocked_after = 10ms;
  o.report = [&, keep = seen.sink()](std::string_view text) {
    keep(text);
    comes.release();
  };
  sched::runtime rt(o);
  for (int run = 1; run <= 3; ++run) {
    std::atomic<bool> open{false};
    sched::waker sleeper;
    rt.run([&] {
      std::atomic<bool> inside{false};
      rt.spawn(
          [&] {
            sleeper = this_fiber::self();
            inside = true;
            waits_below(open);
          },
          {.worker = 1, .name = "kept"});
      while (!inside) this_fiber::yield();
      this_fiber::sleep_for(30ms);  // all workers sleep; then nothing looks at them until one wakes up
      rt.spawn(
          [&] {
            comes.acquire();
            open = true;
            sleeper.wake();
          },
          {.worker = 1, .name = "keeps"});
    });
    REQUIRE(seen.all().size() == static_cast<std::size_t>(run));
  }
  const auto text = seen.all().back();
  INFO(text);
  CHECK(says(text, "has kept worker 1 for more than 0.01 s"));
  if (!shunt::testing::emulator().empty()) return;  // the kernel numbers its calls as the other machine does
#if !defined(SHUNT_TSAN)
  CHECK(says(text, "`keeps`, worker 1, running"));
  CHECK(text.find("`keeps`") < text.find("`kept`, worker 1, parked"));
#endif
  CHECK_FALSE(says(text, "`root`"));
}

namespace {

/// A program that can never go on, but for what `beside` brings.
template <typename F>
void waits_for_ever(int workers, F&& beside) {
  shunt::testing::forget_the_frameworks_signals();
  std::printf("flushed, as it ends");
  auto o = with(workers);
  o.stuck_after = 50ms;
  const std::atomic<bool> never{false};
  sched::runtime rt(o);
  rt.run([&] {
    rt.spawn([&] { waits_below(never); }, {.worker = workers - 1, .name = "waits"});
    beside();
    waits_below(never);
  });
}

}  // namespace

TEST_CASE("program: waits for ever on 1 worker", "[.child]") {
  waits_for_ever(1, [] {});
}
TEST_CASE("program: waits for ever on 3 workers", "[.child]") {
  waits_for_ever(3, [] {});
}
TEST_CASE("program: waits for ever after another thread has woken fibers and ended", "[.child]") {
  waits_for_ever(2, [] {
    std::atomic<bool> came{false};
    std::thread other([&, me = this_fiber::self()] {
      came = true;
      me.wake();
    });
    while (!came) this_fiber::park("a thread");
    other.join();
  });
}

#if !defined(SHUNT_TSAN)  // it has a thread of its own, and what that does cannot be known
TEST_CASE("a program in which nothing can wake a fiber any more ends with a status, after the table of fibers") {
  if (!shunt::testing::emulator().empty()) {
    WARN("an emulator has a thread of its own, and what that does cannot be known");
    return;
  }
  for (const char* const which : {"on 1 worker", "on 3 workers", "after another thread has woken fibers and ended"}) {
    const auto child = shunt::testing::this_program_runs(std::string("program: waits for ever ") + which);
    INFO(child.said);
    CHECK(child.ended_with(70));
    CHECK(count_of(child.said, "no fiber can run, and nothing in this process can wake one") == 1);
    CHECK(child.says("`waits`"));
    CHECK(child.says("the process ends, with status 70"));
    CHECK(child.says("flushed, as it ends"));
  }
}
#endif

TEST_CASE("program: waits for another thread", "[.child]") {
  // It goes on only after the table has been told, and then some looks more were taken.
  std::binary_semaphore told{0};
  shunt::testing::forget_the_frameworks_signals();
  auto o = with(2);
  o.stuck_after = 1ms;
  o.report = [&](std::string_view) { told.release(); };
  sched::runtime(o).run([&] {
    std::atomic<bool> came{false};
    std::thread other([&, me = this_fiber::self()] {
      told.acquire();
      std::this_thread::sleep_for(20ms);  // many times stuck_after: in vain
      came = true;
      me.wake();
    });
    while (!came) this_fiber::park("a thread");
    other.join();
  });
}
TEST_CASE("program: waits for a signal", "[.child]") {
  shunt::testing::forget_the_frameworks_signals();
  std::signal(SIGALRM, [](int) { _exit(0); });  // as a service ends that is asked to
  auto o = with(1);
  o.stuck_after = 1ms;
  sched::runtime(o).run([&] {
    ualarm(50'000, 0);  // many times stuck_after
    for (;;) this_fiber::park("a signal");
  });
}
TEST_CASE("program: waits for a fiber that its report wakes", "[.child]") {
  shunt::testing::forget_the_frameworks_signals();
  for (const int workers : {1, 3}) {
    std::atomic<bool> open{false};
    sched::waker to_wake;
    auto o = with(workers);
    o.stuck_after = 1ms;
    o.report = [&](std::string_view) {
      open = true;
      to_wake.wake();
    };
    sched::runtime rt(o);
    rt.run([&] {
      rt.spawn(
          [&] {
            to_wake = this_fiber::self();
            waits_below(open);
          },
          {.worker = workers - 1});
    });
  }
}
TEST_CASE("program: would wait for ever and is told not to end", "[.child]") {
  shunt::testing::forget_the_frameworks_signals();
  std::atomic<bool> open{false};
  sched::waker to_wake;
  auto o = with(1);
  o.stuck_after = 1ms;
  if (!environment::read("SHUNT_END_IF_STUCK")) o.end_if_stuck = false;
  std::thread waker_to_come;
  o.report = [&](std::string_view text) {
    std::fwrite(text.data(), 1, text.size(), stderr);
    waker_to_come = std::thread([&] {
      open = true;
      to_wake.wake();
    });
  };
  sched::runtime(o).run([&] {
    to_wake = this_fiber::self();
    waits_below(open);
  });
  waker_to_come.join();
}

TEST_CASE("a program that another thread, a signal or its own report can wake does not end when it is stuck") {
  using shunt::testing::this_program_runs;
  for (const char* const which : {"another thread", "a signal", "a fiber that its report wakes"}) {
    const auto child = this_program_runs(std::string("program: waits for ") + which);
    INFO(child.said);
    CHECK(child.ended_with(0));
    CHECK_FALSE(child.says("status 70"));
  }
  constexpr const char* variable = "SHUNT_END_IF_STUCK";
  for (const bool by_variable : {false, true}) {
    if (by_variable) setenv(variable, "0", 1);
    const auto child = this_program_runs("program: would wait for ever and is told not to end");
    INFO(child.said);
    CHECK(child.ended_with(0));
    CHECK(child.says("no fiber can run"));
    unsetenv(variable);
  }
  setenv(variable, "2", 1);
  CHECK_THROWS_WITH(sched::runtime(with(1)), Catch::Contains(variable));
  unsetenv(variable);
}

TEST_CASE("SIGUSR1: a program's own action stays") {
  static std::atomic<int> mine{0};
  struct sigaction ours{};
  struct sigaction before{};
  ours.sa_handler = [](int) { ++mine; };
  REQUIRE(sigaction(SIGUSR1, &ours, &before) == 0);
  sched::runtime(with(1)).run([&] {
    REQUIRE(kill(getpid(), SIGUSR1) == 0);
    while (mine == 0) this_fiber::yield();
  });
  CHECK(mine == 1);
  REQUIRE(sigaction(SIGUSR1, &before, nullptr) == 0);
}

TEST_CASE("a runtime that can never go on says so, once, with the reasons") {
  for (const int workers : {1, 2}) {
    std::atomic<bool> open{false};
    std::atomic<int> begun{0};
    std::vector<sched::waker> sleepers(3);
    reports seen;
    auto o = with(workers);
    o.stuck_after = 1ms;
    o.report = [&, keep = seen.sink()](std::string_view text) {
      keep(text);
      open = true;
      for (const auto& s : sleepers) s.wake();  // no other thread would have done this
    };
    sched::runtime rt(o);
    rt.run([&] {
      for (int i = 0; i < 3; ++i) {
        rt.spawn(
            [&, i] {
              sleepers[static_cast<std::size_t>(i)] = this_fiber::self();
              ++begun;
              waits_below(open);
            },
            {.worker = i % workers, .name = "stuck " + std::to_string(i)});
      }
      // No worker may sleep before all fibers wait: a worker that was given a fiber may not have had a CPU yet.
      while (begun < 3) this_fiber::yield();
    });
    REQUIRE(seen.all().size() == 1);
    const auto text = seen.all().front();
    INFO(text);
    CHECK(says(text, "no fiber can run"));
    for (int i = 0; i < 3; ++i) CHECK(says(text, "`stuck " + std::to_string(i) + "`"));
    CHECK(count_of(text, "waits for the gate") == 3);
  }
}

TEST_CASE("a runtime that waits for a time, or for a poller, does not call itself stuck") {
  reports seen;
  auto o = with(2);
  o.stuck_after = 1ns;
  o.report = seen.sink();
  SECTION("a time") {
    sched::runtime(o).run([] { this_fiber::sleep_for(5ms); });
  }
  SECTION("a poller") {
    struct slow final : sched::poller {
      bool poll() override {
        if (++polls != 4) return false;  // a poller that always moves something keeps its worker from ending
        to_wake.wake();
        return true;
      }
      bool arm() override { return true; }
      void disarm() override {}
      std::chrono::nanoseconds patience() override { return 1ms; }
      int polls = 0;
      sched::waker to_wake;
    } source;
    o.workers = 1;
    sched::runtime rt(o);
    rt.attach(0, source);
    rt.run([&] {
      source.to_wake = this_fiber::self();
      while (source.polls < 4) this_fiber::park();
    });
  }
  CHECK(seen.all().empty());
}

TEST_CASE("a fiber that keeps its worker too long is named with the place where it is") {
  std::atomic<bool> open{false};
  reports seen;
  auto o = with(1);
  o.stall_after = 2ms;
  o.report = [&, keep = seen.sink()](std::string_view text) {
    // Not about code that had no CPU for so long: another fiber, the hog before it is in there, a worker that did not
    // answer.
    if (text.find("keeps_its_worker") != text.npos) keep(text);
    open = true;  // each time, for a stall is reported once only
  };
  sched::runtime rt(o);
  rt.run([&] {
    rt.spawn(
        [&] {
          for (int stalls = 0; stalls < 50 && seen.all().empty(); ++stalls) {
            open = false;
            keeps_its_worker(open);
            this_fiber::sleep_for(1ms);  // the next one is another stall
          }
        },
        {.worker = 0, .name = "hog"});
  });
  REQUIRE(seen.all().size() == 1);  // with the place
  const auto text = seen.all().front();
  INFO(text);
  CHECK(says(text, "has kept its worker for more than 2 ms"));
  CHECK(says(text, "`hog`, worker 0, running"));
  CHECK_FALSE(says(text, "`root`"));
}

TEST_CASE("request_stop: once for the present run, from any thread; the next run has not been asked") {
  for (const int workers : {1, 2}) {
    sched::runtime rt(with(workers));
    CHECK_FALSE(rt.stop_token().stop_possible());
    rt.request_stop();  // nothing to stop
    for (int run = 0; run < 2; ++run) {
      std::atomic<int> told{0};
      bool asked_before = true;
      rt.run([&] {
        asked_before = rt.stop_token().stop_requested();
        std::atomic<int> inside{0};
        for (int i = 0; i < 4; ++i) {
          rt.spawn([&] {
            const auto me = this_fiber::self();
            std::atomic<bool> heard{false};  // later than stop_requested(): its callback may be one of the last
            const std::stop_callback wakes(rt.stop_token(), [&] {
              ++told;
              heard = true;
              me.wake();
            });
            ++inside;
            while (!heard) this_fiber::park("the end");
          });
        }
        while (inside < 4) this_fiber::yield();
        std::thread([&] { rt.request_stop(); }).join();
        rt.request_stop();
        while (told < 4) this_fiber::yield();
      });
      CHECK_FALSE(asked_before);
      CHECK(told == 4);
      CHECK_FALSE(rt.stop_token().stop_possible());
    }
  }
}

TEST_CASE("request_stop: follows from what a body throws") {
  sched::runtime rt(with(2));
  CHECK_THROWS_WITH(rt.run([&] {
    const auto me = this_fiber::self();
    const auto stop = rt.stop_token();
    const std::stop_callback wakes(stop, [me] { me.wake(); });
    rt.spawn([] { throw std::runtime_error("the first"); });
    while (!stop.stop_requested()) this_fiber::park("the end");
    throw std::runtime_error("the second");
  }),
                    "the first");
}

TEST_CASE("request_stop: a fiber that does not listen is named, once") {
  std::atomic<bool> open{false};
  reports seen;
  sched::waker sleeper;
  auto o = with(2);
  o.stuck_after = 0ns;
  o.stop_after = 1ms;
  o.report = [&, keep = seen.sink()](std::string_view text) {
    keep(text);
    open = true;
    sleeper.wake();
  };
  sched::runtime rt(o);
  rt.run([&] {
    std::atomic<bool> inside{false};
    rt.spawn(
        [&] {
          sleeper = this_fiber::self();
          inside = true;
          waits_below(open);
        },
        {.name = "deaf"});
    while (!inside) this_fiber::yield();
    rt.request_stop();
    while (!open) this_fiber::yield();
  });
  REQUIRE(seen.all().size() == 1);
  CHECK(says(seen.all().front(), "asked to stop, and not ended. runtime of 2 workers"));
  CHECK(says(seen.all().front(), "`deaf`"));
}

TEST_CASE("report_fibers: tells what a fiber's module says that the fiber works on, and cuts off what is too long") {
  struct job : sched::detail::work_note {
    std::string text;
  };
  const auto write = [](const sched::detail::work_note& self, std::uint32_t, sched::detail::note_text& to) noexcept {
    to << static_cast<const job&>(self).text << ", ";
    to.seconds(61'250) << "; " << std::int64_t{-7};
  };
  job waits;
  job runs;
  job is_long;
  waits.write = runs.write = is_long.write = write;
  waits.text = "waits here";
  runs.text = "runs here";
  is_long.text = std::string(1000, 'x');
  std::string text;
  std::atomic<bool> open{false};  // these outlive the root, which ends before the fibers that it wakes
  std::vector<sched::waker> all;
  sched::runtime rt(with(1));
  rt.run([&] {
    for (const job* each : {&waits, &is_long}) {
      rt.spawn([&open, &all, each] {
        sched::detail::set_work_of_this_fiber(each);
        all.push_back(this_fiber::self());
        while (!open) this_fiber::park("the gate");
        sched::detail::set_work_of_this_fiber(nullptr);
      });
    }
    while (all.size() < 2) this_fiber::yield();
    sched::detail::set_work_of_this_fiber(&runs);
    text = sched::report_fibers();
    sched::detail::set_work_of_this_fiber(nullptr);
    open = true;
    for (const auto& w : all) w.wake();
  });
  INFO(text);
  CHECK(says(text, "waits for the gate; waits here, 61.2 s; -7; stack "));
  CHECK(says(text, "running; runs here, 61.2 s; -7; stack "));
  CHECK(count_of(text, "x") >= 255);
  CHECK(count_of(text, "x") < 300);
}
