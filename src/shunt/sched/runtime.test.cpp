#include <shunt/sched.hpp>

#include <csignal>

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <sched.h>

#include <shunt/base/error.hpp>
#include <shunt/base/sanitizers.hpp>
#include <shunt/base/topology.hpp>

#include <catch2/catch.hpp>
#include <support/process.hpp>
#include <support/runtimes.hpp>
#include <support/workers.hpp>

namespace sched = shunt::sched;
namespace this_fiber = shunt::sched::this_fiber;
namespace this_worker = shunt::sched::this_worker;
using namespace std::chrono_literals;
using shunt::testing::no_waiting;
using shunt::testing::refused;

namespace {

#if defined(__SANITIZE_THREAD__)
constexpr int many_fibers = 2'000;  // gcc 12's ThreadSanitizer carries some 8,000
#else
constexpr int many_fibers = 10'000;
#endif

sched::options with(int workers) {
  sched::options o;
  o.workers = workers;
  return o;
}

}  // namespace

TEST_CASE("runtime: root runs once, inside a fiber, on worker 0, on the calling thread") {
  const int workers = GENERATE(1, 2, 4);
  sched::runtime rt(with(workers));
  CHECK(rt.workers() == workers);
  int runs = 0;
  const auto caller = std::this_thread::get_id();
  CHECK_FALSE(this_fiber::inside());
  CHECK(this_worker::index() == -1);
  rt.run([&] {
    ++runs;
    CHECK(this_fiber::inside());
    CHECK(this_worker::index() == 0);
    CHECK(std::this_thread::get_id() == caller);
    CHECK(&this_worker::current() == &rt);
    CHECK(this_fiber::name() == "root");
  });
  CHECK(runs == 1);
  CHECK_FALSE(this_fiber::inside());
}

TEST_CASE("runtime: run returns after every fiber, also those that fibers spawned, and can run again") {
  const int workers = GENERATE(1, 2, 3);
  sched::runtime rt(with(workers));
  for (int round = 1; round <= 20; ++round) {
    std::atomic<int> ended{0};
    rt.run([&] {
      for (int i = 0; i < 10; ++i) {
        rt.spawn([&] {
          for (int k = 0; k < 5; ++k) {
            rt.spawn([&] {
              this_fiber::yield();
              ++ended;
            });
          }
          ++ended;
        });
      }
    });
    CHECK(ended == 60);
  }
}

TEST_CASE("runtime: fibers spawned before run wait for it, on the worker they were spawned for") {
  sched::runtime rt(with(3));
  std::atomic<bool> run_begins{false};
  std::atomic<int> right_place{0};
  for (int i = 0; i < 30; ++i) {
    sched::spawn_options where;
    where.worker = i % 3;
    where.name = "early " + std::to_string(i);
    rt.spawn(
        [&, i] {
          right_place +=
              run_begins && this_worker::index() == i % 3 && this_fiber::name() == "early " + std::to_string(i);
        },
        where);
  }
  std::atomic<int> anywhere{0};
  for (int i = 0; i < 30; ++i) rt.spawn([&] { anywhere += run_begins; });
  CHECK(right_place + anywhere == 0);
  run_begins = true;
  rt.run([] {});
  CHECK(right_place == 30);
  CHECK(anywhere == 30);
}

TEST_CASE("runtime: fibers spawned and never run are dropped with their captures") {
  const auto counted = std::make_shared<int>(0);
  {
    sched::runtime rt(with(2));
    for (int i = 0; i < 10; ++i) rt.spawn([counted] {});
    CHECK(counted.use_count() == 11);
  }
  CHECK(counted.use_count() == 1);
}

TEST_CASE("runtime: what root throws, run throws, after everything else ended") {
  sched::runtime rt(with(2));
  std::atomic<int> ended{0};
  const auto body = [&] {
    for (int i = 0; i < 100; ++i) {
      rt.spawn([&] {
        for (int k = 0; k < 10; ++k) this_fiber::yield();
        ++ended;
      });
    }
    throw std::runtime_error("from root");
  };
  CHECK_THROWS_WITH(rt.run(body), "from root");
  CHECK(ended == 100);
  CHECK_NOTHROW(rt.run([] {}));
}

TEST_CASE("runtime: an exception that leaves a spawned fiber is thrown by run, the first one only") {
  sched::runtime rt(with(1));
  const auto body = [&] {
    rt.spawn([] { throw std::logic_error("first"); }, {0, "", 0});
    rt.spawn([] { throw std::logic_error("second"); }, {0, "", 0});
  };
  CHECK_THROWS_WITH(rt.run(body), "first");
}

TEST_CASE("runtime: a worker out of range, a nested run and a negative count are usage errors") {
  CHECK_THROWS_AS(sched::runtime(with(-1)), shunt::usage_error);
  sched::runtime rt(with(2));
  CHECK_THROWS_AS(rt.spawn([] {}, {2, "", 0}), shunt::usage_error);
  CHECK_THROWS_AS(rt.spawn([] {}, {-2, "", 0}), shunt::usage_error);
  CHECK_THROWS_AS(rt.run([&] { rt.run([] {}); }), shunt::usage_error);
  CHECK_THROWS_AS(this_fiber::yield(), shunt::error);
  CHECK_THROWS_AS(this_fiber::park(), shunt::error);
  CHECK_THROWS_AS(this_fiber::self(), shunt::error);
  CHECK_THROWS_AS(this_worker::current(), shunt::error);
}

TEST_CASE("runtime: a fiber's stack that cannot be had is an error of run, and the rest runs") {
  sched::runtime rt(with(1));
  bool other = false;
  const auto body = [&] {
    rt.spawn([] {}, {-1, "too large", std::size_t{1} << 48});
    rt.spawn([&] { other = true; });
  };
  CHECK_THROWS_AS(rt.run(body), shunt::error);
  CHECK(other);
}

TEST_CASE("runtime: the caller's affinity is the same afterwards") {
  const auto before = shunt::usable_cpus();
  sched::runtime rt(with(static_cast<int>(before.size())));
  std::size_t inside = 0;
  rt.run([&] { inside = shunt::usable_cpus().size(); });
  CHECK(inside == 1);
  CHECK(shunt::usable_cpus() == before);
}

TEST_CASE("yield: fibers of one worker take turns, in order") {
  sched::runtime rt(with(1));
  std::string order;
  rt.run([&] {
    for (const char c : {'a', 'b', 'c'}) {
      rt.spawn(
          [&order, c] {
            for (int i = 0; i < 3; ++i) {
              order.push_back(c);
              this_fiber::yield();
            }
          },
          {0, "", 0});
    }
  });
  CHECK(order == "abcabcabc");
}

TEST_CASE("yield: ten thousand fibers live at once, and each is switched to") {
  sched::runtime rt(with(2));
  std::atomic<int> arrived{0};
  rt.run([&] {
    for (int i = 0; i < many_fibers; ++i) {
      sched::spawn_options where;
      where.worker = i % 2;
      where.stack_bytes = 16 * 1024;
      rt.spawn(
          [&] {
            ++arrived;
            while (arrived < many_fibers) this_fiber::yield();
          },
          where);
    }
  });
  CHECK(arrived == many_fibers);
}

TEST_CASE("yield: tasks that have not started run even if two fibers yield to each other for ever") {
  sched::runtime rt(with(1));
  bool done = false;
  rt.run([&] {
    for (int i = 0; i < 2; ++i)
      rt.spawn(
          [&] {
            while (!done) this_fiber::yield();
          },
          {0, "", 0});
    this_fiber::yield();
    rt.spawn([&] { done = true; });
    while (!done) this_fiber::yield();
  });
  CHECK(done);
}

TEST_CASE("spawn: an idle worker steals a task whose worker does not come to it") {
  sched::runtime rt(with(2));
  std::atomic<int> runner{-1};
  rt.run([&] {
    REQUIRE(shunt::testing::idle_workers().falls_asleep(1));
    rt.spawn([&] { runner = this_worker::index(); });
    while (runner < 0) std::this_thread::yield();  // keeps worker 0 busy without a switch
  });
  CHECK(runner == 1);
}

TEST_CASE("spawn: every one of many tasks runs exactly once, wherever it is stolen to") {
  sched::runtime rt(with(3));
  constexpr int tasks = 20'000;
  std::vector<std::atomic<int>> runs(tasks);
  rt.run([&] {
    for (int i = 0; i < tasks; ++i) {
      rt.spawn([&runs, i] { runs[static_cast<std::size_t>(i)].fetch_add(1); });
      if (i % 1000 == 0) this_fiber::yield();
    }
  });
  int wrong = 0;
  for (const auto& r : runs) wrong += r != 1;
  CHECK(wrong == 0);
}

TEST_CASE("no_wait: while set, park and yield throw what it throws; afterwards they work") {
  sched::runtime rt(with(1));
  rt.run([] {
    const no_waiting guard;
    CHECK(this_worker::forbid_wait(&guard) == nullptr);
    try {
      this_fiber::yield();
      FAIL("yielded");
    } catch (const refused& r) {
      CHECK(r.call == "yield");
    }
    try {
      this_fiber::park();
      FAIL("parked");
    } catch (const refused& r) {
      CHECK(r.call == "park");
    }
    CHECK(this_worker::forbid_wait(nullptr) == &guard);
    this_fiber::yield();
  });
}

TEST_CASE("no_wait: once it is not in force any more, waits, spawns and pushed jobs are as if it had been cleared") {
  struct lapsing final : shunt::sched::no_wait {
    [[noreturn]] void refuse(shunt::call_site call) const override { throw refused{call.name()}; }
    void on_spawn(shunt::call_site call) const override { refuse(call); }
    [[nodiscard]] bool in_force() const noexcept override { return still; }
    bool still = true;
  };
  using shunt::sched::job_deque;
  const std::initializer_list<void (*)()> waits{
      [] { this_fiber::yield(); },
      [] { static_cast<void>(this_fiber::park_until(std::chrono::steady_clock::now())); },
      [] { this_fiber::require_wait("a test"); },
      [] { this_worker::current().spawn([] {}); },
  };
  shunt::sched::runtime rt(with(1));
  rt.run([&] {
    auto* const jobs = job_deque::here();
    for (const auto wait : waits) {
      lapsing refuses;
      REQUIRE(shunt::sched::waits_forbidden::while_in_force(refuses));
      REQUIRE(shunt::sched::waits_forbidden::while_in_force(refuses));
      CHECK(job_deque::here() == nullptr);
      CHECK(!this_fiber::may_wait());
      CHECK_THROWS_AS(wait(), refused);
      lapsing another;
      CHECK(!shunt::sched::waits_forbidden::while_in_force(another));
      refuses.still = false;
      CHECK(this_fiber::may_wait());
      wait();
      CHECK(job_deque::here() == jobs);
      this_fiber::yield();
    }
    lapsing first, second;
    CHECK(shunt::sched::waits_forbidden::while_in_force(first));
    first.still = false;
    CHECK(shunt::sched::waits_forbidden::while_in_force(second));
    CHECK_THROWS_AS(this_fiber::yield(), refused);
    this_worker::forbid_wait(nullptr);
  });
}

TEST_CASE("exceptions: each fiber rethrows its own, though both yielded inside their catch blocks") {
  sched::runtime rt(with(1));
  std::vector<std::string> seen;
  rt.run([&] {
    for (const std::string name : {"a", "b", "c"}) {
      rt.spawn(
          [&seen, name] {
            for (int i = 0; i < 20; ++i) {
              try {
                try {
                  throw std::runtime_error(name);
                } catch (const std::runtime_error&) {
                  this_fiber::yield();
                  throw;
                }
              } catch (const std::runtime_error& e) {
                seen.push_back(name + e.what());
                this_fiber::yield();
              }
              CHECK(std::uncaught_exceptions() == 0);
            }
          },
          {0, "", 0});
    }
  });
  CHECK(seen.size() == 60);
  for (const auto& s : seen) CHECK(s[0] == s[1]);
}

TEST_CASE("exceptions: a destructor that yields during unwinding keeps its fiber's count") {
  sched::runtime rt(with(1));
  struct yields {
    int* count;
    ~yields() {
      this_fiber::yield();
      *count = std::uncaught_exceptions();
    }
  };
  int during[2] = {-1, -1};
  rt.run([&] {
    rt.spawn(
        [&] {
          try {
            const yields y{&during[0]};
            throw 1;
          } catch (int) {
          }
        },
        {0, "", 0});
    rt.spawn([&] { const yields y{&during[1]}; }, {0, "", 0});
  });
  CHECK(during[0] == 1);
  CHECK(during[1] == 0);
}

TEST_CASE("yield: its obstacles are seen also between fibers that only yield") {
  constexpr int rounds = 300;
  const auto now_and_then = [](int i, int period, int me) { return i % period == me; };
  sched::runtime rt(with(1));
  int refusals = 0;
  int rethrown = 0;
  int due[2] = {0, 0};
  rt.run([&] {
    for (int me = 0; me < 3; ++me) {
      rt.spawn(
          [&, me] {
            const no_waiting guard;
            for (int i = 0; i < rounds; ++i) {
              this_fiber::yield();
              if (now_and_then(i, 17, me)) {
                ++due[0];
                const sched::waits_forbidden scope(guard);
                try {
                  this_fiber::yield();
                } catch (const refused& r) {
                  refusals += r.call == "yield" ? 1 : 0;
                }
              }
              if (now_and_then(i, 19, me)) {
                ++due[1];
                try {
                  throw me;
                } catch (int) {
                  for (int j = 0; j < 3; ++j) this_fiber::yield();
                  try {
                    throw;
                  } catch (int mine) {
                    rethrown += mine == me ? 1 : 0;
                  }
                }
              }
            }
          },
          {0, "", 0});
    }
  });
  CHECK(refusals == due[0]);
  CHECK(rethrown == due[1]);
  CHECK(due[1] > 40);
}

namespace {

/// How a child of this process ended, and what it wrote to stderr.
struct end_of_child {
  int status = 0;
  std::string said;
  [[nodiscard]] bool by(int signal) const { return WIFSIGNALED(status) && WTERMSIG(status) == signal; }
};
/// `body` in a child that has the default actions; it ends with status 3 if that returns.
end_of_child in_child(const std::function<void()>& body) {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    for (const int each : {SIGSEGV, SIGABRT}) std::signal(each, SIG_DFL);  // the test framework has its own
    const stack_t none{.ss_sp = nullptr, .ss_flags = SS_DISABLE, .ss_size = 0};
    sigaltstack(&none, nullptr);
    dup2(ends[1], STDERR_FILENO);
    body();
    _exit(3);
  }
  close(ends[1]);
  end_of_child how;
  char some[256];
  for (ssize_t n = 0; (n = read(ends[0], some, sizeof some)) > 0;) how.said.append(some, static_cast<std::size_t>(n));
  close(ends[0]);
  REQUIRE(waitpid(child, &how.status, 0) == child);
  return how;
}

}  // namespace

TEST_CASE("runtime: stacks larger than any address space are refused where they are asked for") {
  const auto huge = GENERATE(~std::size_t{0}, ~std::size_t{0} - 4095, ~std::size_t{0} - (256 << 10),
                             std::size_t{1} << 63, (std::size_t{1} << 48) + 1);
  CHECK_THROWS_AS(sched::runtime({.workers = 1, .stack_bytes = huge}), shunt::usage_error);
  CHECK_THROWS_AS(sched::runtime({.workers = 1, .root_stack_bytes = huge}), shunt::usage_error);
  sched::runtime one({.workers = 1});
  CHECK_THROWS_WITH(
      one.spawn([] {}, {.stack_bytes = huge}, {}),
      "spawn: a stack of " + std::to_string(huge) + " bytes: a stack has at most 262144 GiB [SHUNT-0104]");
  bool ran = false;
  one.run([&] {
    ran = true;
    CHECK_THROWS_AS(one.spawn([] {}, {.stack_bytes = huge}), shunt::usage_error);
  });
  CHECK(ran);
}

TEST_CASE("runtime: a stack that the system has no address space for ends the run, and the error says why") {
  const auto huge = std::size_t{1} << 48;  // may be asked for, and is not to be had
  sched::runtime one({.workers = 1});
  CHECK_THROWS_WITH(one.run([&] { one.spawn([] {}, {.stack_bytes = huge}); }),
                    Catch::Contains("stack pool: no stack of 274877906944 KiB: mmap: "));
  bool ran = false;
  one.run([&] { ran = true; });
  CHECK(ran);
}

TEST_CASE("runtime: destroyed inside its own run it says so, names the fiber, and aborts") {
  const auto by_fiber = in_child([] {
    auto* const one = new sched::runtime({.workers = 1});
    one->run([&] { one->spawn([&] { delete one; }, {.name = "careless"}); });
  });
  CHECK(by_fiber.by(SIGABRT));
  CHECK(by_fiber.said.find("~runtime: called while run() runs, by a fiber of it, `careless`") != std::string::npos);
  const auto by_thread = in_child([] {
    auto* const one = new sched::runtime({.workers = 1});
    one->run([&] { std::thread([&] { delete one; }).join(); });
  });
  CHECK(by_thread.by(SIGABRT));
  CHECK(by_thread.said.find("~runtime: called while run() runs: ") != std::string::npos);
}

#if !defined(SHUNT_ASAN) && !defined(SHUNT_TSAN)  // they report the fault in their own way
namespace {

/// One frame of 1 MiB, of which the last byte is written first: the whole of it must be probed before.
[[gnu::noinline]] int one_large_frame() {
  char room[1 << 20];
  char* volatile at = room;
  at[0] = 1;
  return at[0] + 1;
}
[[gnu::noinline]] int one_alloca(std::size_t bytes) {
  char* volatile at = static_cast<char*>(__builtin_alloca(bytes));
  at[0] = 1;
  return at[0] + 1;
}

}  // namespace

TEST_CASE("overflow: the fiber that ran off its stack is named, with its size, and the signal ends the process") {
  const std::function<int()> digs[] = {[] { return shunt::testing::dig(); }, [] { return one_large_frame(); },
                                       [] { return one_alloca(300 << 10); }, [] { return one_alloca(100 << 20); }};
  for (const auto& dig : digs) {
    const auto how = in_child([&] {
      sched::runtime two({.workers = 2});
      two.run([&] {
        // Others' stacks lie below, in use: a frame that leaps over the gap would find them.
        for (int i = 0; i < 50; ++i) two.spawn([] { this_fiber::park(); }, {.worker = 1, .stack_bytes = 65536});
        two.spawn([&] { _exit(dig() == 12345 ? 1 : 2); }, {.worker = 1, .name = "digger", .stack_bytes = 65536});
      });
    });
    CAPTURE(&dig - digs, how.said);
    CHECK(how.by(SIGSEGV));
    CHECK(how.said.find("fiber `digger` ran off its stack of 64 KiB") != std::string::npos);
  }
}

TEST_CASE("overflow: a program's own handler stays, and the default action is there again after run()") {
  struct sigaction before{}, during{}, after{};
  REQUIRE(sigaction(SIGSEGV, nullptr, &before) == 0);  // the test framework's
  sched::runtime one({.workers = 1});
  one.run([&] { sigaction(SIGSEGV, nullptr, &during); });
  CHECK(during.sa_handler == before.sa_handler);

  std::signal(SIGSEGV, SIG_DFL);
  one.run([&] { sigaction(SIGSEGV, nullptr, &during); });
  sigaction(SIGSEGV, nullptr, &after);
  sigaction(SIGSEGV, &before, nullptr);
  CHECK((during.sa_flags & SA_ONSTACK) != 0);
  CHECK(after.sa_handler == SIG_DFL);
}
#endif

// What a run leaves in the runtime is plain. After a run has ended, its failure keeps its thread busy.
TEST_CASE("runtime: a thread may run it as soon as another thread's run has ended") {
  constexpr int each = 300;
  sched::options o;
  o.workers = 1;
  sched::runtime runtime(o);
  int runs = 0;  // plain: edge `run after`
  const auto runs_again = [&] {
    for (int i = 0; i < each;) {
      try {
        runtime.run([&] {
          ++runs;
          throw std::runtime_error("as planned");
        });
      } catch (const shunt::usage_error&) {
        std::this_thread::yield();  // the other thread's run is not over
      } catch (const std::runtime_error&) {
        ++i;
      }
    }
  };
  std::thread other(runs_again);
  runs_again();
  other.join();
  CHECK(runs == 2 * each);
}
