// No memory for a fiber's stack: each wait for such a fiber ends, with an error that names the stack pool and the
// limit.
//
// If the scheduler drops such a fiber without running it, each of these tests hangs.
#include <atomic>
#include <cstdio>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <shunt/task.hpp>
#include <shunt/task/coroutine.hpp>
#include <shunt/task/railway.hpp>
#include <shunt/task/task_group.hpp>
#include <shunt/task/when.hpp>
#include <support/process.hpp>
#include <support/refused_stacks.hpp>

namespace this_fiber = shunt::sched::this_fiber;
using shunt::testing::with_each_stack_refused;

namespace {

/// Runs `program` once for each stack that it takes, without that stack; on one worker and on two.
/// \return how often it ended with an exception.
int on_one_and_two(const std::function<void()>& program) {
  int refusals = 0;
  for (const int workers : {1, 2}) {
    refusals += with_each_stack_refused([&] { shunt::sched::runtime({.workers = workers}).run(program); });
  }
  return refusals;
}

shunt::coroutine_task<int> sum_of(shunt::future<int> a, shunt::future<int> b) { co_return co_await a + co_await b; }
shunt::coroutine_task<int> waits_as_a_fiber(shunt::future<int> a) {
  const int got = co_await a;
  shunt::finish([] { shunt::async([] { this_fiber::yield(); }); });
  co_return got;
}

}  // namespace

TEST_CASE("no stack: a finish throws the reason, after all other tasks and the captures have ended") {
  std::atomic<int> ended{0};
  const auto captured = std::make_shared<int>(0);
  CHECK(on_one_and_two([&] {
          ended = 0;
          std::exception_ptr failure;
          try {
            shunt::finish([&] {
              for (int i = 0; i < 4; ++i) {
                shunt::async([&ended, captured] {
                  this_fiber::yield();
                  shunt::async([&ended, captured] { ++ended; });
                  ++ended;
                });
              }
            });
          } catch (...) {
            failure = std::current_exception();
          }
          CHECK(captured.use_count() == 1);
          if (failure) {
            CHECK(ended < 8);
            std::rethrow_exception(failure);
          }
          CHECK(ended == 8);
        }) > 0);
}

TEST_CASE("no stack: outside of any finish run() throws the reason") {
  CHECK(on_one_and_two([] {
          shunt::async([] { this_fiber::yield(); });
          shunt::sched::this_worker::current().spawn([] {}, {.worker = 0});
        }) > 0);
}

TEST_CASE("no stack: the future of a task delivers the reason, also through then(), when_all() and when_any()") {
  CHECK(on_one_and_two([] {
          auto one = shunt::async_value([] {
            this_fiber::yield();
            return 1;
          });
          auto two = shunt::then(one, [](int i) { return i + 1; });
          const auto both = shunt::when_all(one, two).get();
          const auto first = shunt::when_any(one, two).get();
          CHECK(first.index < 2);
          const int sum = std::get<0>(both).get() + std::get<1>(both).get();
          CHECK(sum == 3);
        }) > 0);
}

TEST_CASE("no stack: join() of a fiber throws the reason") {
  CHECK(on_one_and_two([] {
          shunt::fiber one([] { this_fiber::yield(); });
          shunt::fiber two([&one] { one.join(); });
          two.join();
        }) > 0);
}

TEST_CASE("no stack: a task group is stopped, and throws the reason") {
  CHECK(on_one_and_two([] {
          shunt::task_group group;
          for (int i = 0; i < 3; ++i) {
            group.spawn([](std::stop_token stop) {
              while (!stop.stop_requested()) this_fiber::yield();
            });
          }
          group.spawn([&group] { group.request_stop(); });
          group.wait();
        }) > 0);
}

TEST_CASE("no stack: a coroutine goes on without one; a call in it that needs one throws the reason") {
  int failed_coroutines = 0;
  on_one_and_two([&] {
    shunt::promise<int> a;
    shunt::promise<int> b;
    shunt::future<int> sum;
    shunt::future<int> other;
    shunt::finish([&] {
      sum = shunt::start(sum_of(a.get_future(), b.get_future()));
      other = shunt::start(waits_as_a_fiber(b.get_future()));
      a.set_value(1);
      this_fiber::yield();
      b.set_value(2);
    });
    CHECK(sum.get() == 3);
    int got = 0;
    try {
      got = other.get();
    } catch (const shunt::error&) {
      ++failed_coroutines;
      throw;
    }
    CHECK(got == 2);
  });
  CHECK(failed_coroutines > 0);
}

TEST_CASE("no stack: both branches of a fork end, even if each waits for the other's beginning") {
  // A worker that runs the second branch without a stack cannot wait in it; the first branch can wait.
  on_one_and_two([] {
    shunt::promise<int> left;
    shunt::fork_join([&] { static_cast<void>(left.get_future().get()); }, [&] { left.set_value(1); });
  });
  on_one_and_two([] {
    std::atomic<bool> begun{false};
    const auto waits = [&] {
      if (begun.exchange(true)) return;
      while (!begun) this_fiber::yield();
    };
    shunt::fork_join(waits, waits);
    std::atomic<int> sum{0};
    shunt::parallel_for(0, 100, [&](int i) { sum += i; });
    CHECK(sum == 4950);
  });
}

TEST_CASE("no stack: a railway whose station cannot start ends, and run() throws the reason") {
  CHECK(on_one_and_two([] {
          shunt::railway<long> line({.capacity = 1, .trains = 2});
          auto& in = line.source("in");
          auto& middle = line.after({&in}, "middle");
          auto& out = line.after({&middle}, "out");
          long sum = 0;
          line.operate(in, [](auto& s) {
            for (long i = 0; i < 20 && s.put(i); ++i) {
            }
          });
          line.operate(middle, [](auto& s) {
            while (auto train = s.arrive()) train[0] *= 2;
          });
          line.operate(out, [&](auto& s) {
            while (auto train = s.arrive()) sum += train[0];
          });
          line.run();
          CHECK(sum == 380);
        }) > 0);
}

TEST_CASE("no stack: a run after such a run is complete") {
  shunt::sched::runtime two({.workers = 2});
  const auto program = [] {
    shunt::finish([] {
      for (int i = 0; i < 10; ++i) shunt::async([] { this_fiber::yield(); });
    });
  };
  for (long n = 1; n < 8; ++n) {
    {
      const shunt::testing::refused_stacks refused(n, true);
      CHECK_THROWS_AS(two.run(program), shunt::error);
    }
    CHECK_NOTHROW(two.run(program));
  }
}

TEST_CASE("no stack: if no fiber can go on, the report says that some could not start, and the reason") {
  std::string said;
  shunt::promise<void> gate;
  shunt::sched::runtime one(
      {.workers = 1, .stuck_after = std::chrono::milliseconds(1), .report = [&](std::string_view text) {
         said += text;
         gate.set_value();  // so that the test ends
       }});
  const shunt::testing::refused_stacks refused(2, false);
  CHECK_THROWS_AS(one.run([&] {
    shunt::finish([&] {
      shunt::async([&] { gate.set_value(); });
      gate.get_future().get();
    });
  }),
                  shunt::error);
  CAPTURE(said);
  CHECK(said.find("1 fiber could not be started (stack pool: no stack of ") != std::string::npos);
}

#if !defined(SHUNT_ASAN) && !defined(SHUNT_TSAN)  // their shadow memory exceeds the limits below
namespace {

/// Runs a child whose address space grows by at most `more`. \return its stdout; none: the system has no such limit.
std::optional<std::string> in_little_space(std::size_t more, const std::function<void()>& body) {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    if (!shunt::testing::limit_address_space(more)) _exit(77);
    dup2(ends[1], STDOUT_FILENO);
    std::string what = "nothing";
    try {
      body();
    } catch (const std::exception& e) {
      what = e.what();
    }
    if (write(STDOUT_FILENO, what.data(), what.size()) < 0) _exit(2);
    _exit(0);
  }
  close(ends[1]);
  std::string said;
  char some[256];
  for (ssize_t n = 0; (n = read(ends[0], some, sizeof some)) > 0;) said.append(some, static_cast<std::size_t>(n));
  close(ends[0]);
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  if (WEXITSTATUS(status) == 77) {
    WARN("address space has no limit here");
    return std::nullopt;
  }
  return said;
}

}  // namespace

TEST_CASE("no stack: under ulimit -v a finish of 20,000 tasks that all wait throws an error that names the limit") {
  const auto said = in_little_space(std::size_t{1} << 30, [] {
    shunt::sched::runtime({.workers = 2}).run([] {
      shunt::promise<void> gate;
      std::atomic<int> unstarted{20'000};
      shunt::finish([&] {
        for (int i = 0; i < 20'000; ++i) {
          shunt::async([opened = gate.get_future(),
                        token = std::shared_ptr<void>(&unstarted, [&](void*) { --unstarted; })]() mutable {
            token.reset();  // a task that does not start destroys its token with its captures
            opened.get();
          });
        }
        while (unstarted > 0) this_fiber::yield();
        gate.set_value();
      });
    });
  });
  if (!said) return;
  CAPTURE(*said);
  CHECK(said->find("stack pool: no stack of 256 KiB") != std::string::npos);
  CHECK(said->find("raise RLIMIT_AS (ulimit -v)") != std::string::npos);
}

TEST_CASE("no stack: a runtime that gets no thread says which limit to raise") {
  const auto said = in_little_space(std::size_t{40} << 20, [] { shunt::sched::runtime({.workers = 64}).run([] {}); });
  if (!said) return;
  CAPTURE(*said);
  CHECK(said->find("run: cannot start thread ") != std::string::npos);
  CHECK(said->find("raise RLIMIT_AS (ulimit -v)") != std::string::npos);
}
#endif
