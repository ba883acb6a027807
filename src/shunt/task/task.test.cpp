#include <shunt/task.hpp>

#include <atomic>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>
#include <support/runtimes.hpp>

namespace this_fiber = shunt::sched::this_fiber;
using namespace std::chrono_literals;
using shunt::async;
using shunt::async_value;
using shunt::finish;
using shunt::testing::no_waiting;
using shunt::testing::on_workers;
using shunt::testing::refused;

namespace {

long fibonacci(int n) {
  if (n < 2) return n;
  long left = 0;
  long right = 0;
  finish([&] {
    async([&, n] { left = fibonacci(n - 1); });
    right = fibonacci(n - 2);
  });
  return left + right;
}

}  // namespace

TEST_CASE("finish: returns at once without tasks, and runs its body on the caller's fiber") {
  on_workers([] {
    const auto me = this_fiber::self();
    bool ran = false;
    finish([&] {
      ran = true;
      CHECK(this_fiber::self() == me);
    });
    CHECK(ran);
  });
}

TEST_CASE("finish: waits for every task made inside, transitively; their writes are visible") {
  on_workers([] {
    std::vector<int> leaves(200, 0);  // not atomic: edge `done` publishes them
    finish([&] {
      for (std::size_t i = 0; i < 10; ++i) {
        async([&leaves, i] {
          for (std::size_t k = 0; k < 20; ++k) {
            async([&leaves, i, k] {
              if (k % 3 == 0) this_fiber::yield();
              leaves[20 * i + k] = 1;
            });
          }
        });
      }
    });
    int sum = 0;
    for (const int l : leaves) sum += l;
    CHECK(sum == 200);
  });
}

TEST_CASE("finish: nests; an inner one waits for its own tasks only") {
  on_workers([] {
    bool outer_done = false;
    finish([&] {
      shunt::promise<void> gate;
      auto opened = gate.get_future();
      async([&, opened] {
        opened.get();
        outer_done = true;
      });
      int inner = 0;
      finish([&] { async([&] { ++inner; }); });
      CHECK(inner == 1);
      CHECK_FALSE(outer_done);
      gate.set_value();
    });
    CHECK(outer_done);
    CHECK(fibonacci(15) == 610);
  });
}

// Where there are several workers, the last task mostly ends before the waiter waits, so that the waiter does not park,
// and only edge `done` orders the two.
TEST_CASE("finish, task_group: what a task wrote that ended before the wait is visible after it") {
  on_workers([] {
    const auto look_out = [](const std::atomic<bool>& for_flag) {
      for (int i = 0; i < 200 && !for_flag.load(std::memory_order_relaxed); ++i) std::this_thread::yield();
    };
    shunt::task_group group;
    int wrong = 0;
    for (int round = 0; round < 100; ++round) {
      std::atomic<bool> ran{false};
      int written = 0;
      const auto body = [&] {
        ++written;
        ran.store(true, std::memory_order_relaxed);  // relaxed: it orders nothing
      };
      finish([&] {
        async(body);
        look_out(ran);
      });
      wrong += written != 1;
      ran.store(false, std::memory_order_relaxed);
      group.spawn(body);
      look_out(ran);
      while (!group.wait_for(1h)) continue;
      wrong += written != 2;
    }
    CHECK(wrong == 0);
  });
}

// The task often ends between the last look of a wait whose time is over, and the end of that wait.
TEST_CASE("task_group: a task that ends while a wait gives up has ended, or is waited for again") {
  on_workers([] {
    shunt::task_group group;
    int wrong = 0;
    for (int round = 0; round < 1000; ++round) {
      int written = 0;  // plain
      group.spawn([&written] { written = 1; });
      while (!group.wait_until(std::chrono::steady_clock::time_point::min())) this_fiber::yield();
      wrong += written != 1;
    }
    CHECK(wrong == 0);
  });
}

TEST_CASE("finish: throws the first exception of its tasks, after all have ended") {
  on_workers([] {
    std::atomic<int> ended{0};
    const auto run = [&](bool body_throws) {
      finish([&] {
        for (int i = 0; i < 20; ++i) {
          async([&, i] {
            this_fiber::yield();
            ++ended;
            if (i == 7 && !body_throws) throw std::runtime_error("seven");
          });
        }
        if (body_throws) throw std::runtime_error("body");
      });
    };
    CHECK_THROWS_WITH(run(false), "seven");
    CHECK(ended == 20);
    CHECK_THROWS_WITH(run(true), "body");
    CHECK(ended == 40);
    CHECK(this_fiber::scope() == nullptr);
    // The exception of an inner finish passes through the task of the outer one.
    CHECK_THROWS_WITH(finish([&] { async([&] { run(true); }); }), "body");
  });
}

TEST_CASE("async, async_value, fiber: on a thread that is no worker they throw usage_error, which names them") {
  const auto named = [](const char* call) {
    return Catch::StartsWith(std::string(call) + ": called outside a runtime: ");
  };
  CHECK_THROWS_WITH(async([] {}), named("async"));
  CHECK_THROWS_WITH(static_cast<void>(async_value([] { return 1; })), named("async_value"));
  CHECK_THROWS_WITH(shunt::fiber([] {}), named("fiber"));
  CHECK_THROWS_AS(async([] {}), shunt::usage_error);
}

TEST_CASE("async: outside of a finish a task belongs to run, which throws its exception") {
  shunt::sched::options o;
  o.workers = 2;
  shunt::sched::runtime rt(o);
  std::atomic<int> ended{0};
  rt.run([&] {
    for (int i = 0; i < 10; ++i) async([&] { ++ended; });
  });
  CHECK(ended == 10);
  CHECK_THROWS_WITH(rt.run([] { async([] { throw std::runtime_error("lone"); }); }), "lone");
}

TEST_CASE("async: takes move-only bodies, and destroys their captures before the finish returns") {
  on_workers([] {
    const auto counted = std::make_shared<int>(0);
    int got = 0;
    finish([&] {
      async([&got, p = std::make_unique<int>(5), counted] { got = *p; });
      async([counted] {});
    });
    CHECK(got == 5);
    CHECK(counted.use_count() == 1);
  });
}

TEST_CASE("async: runs ten thousand tasks, each once") {
  on_workers([] {
    std::atomic<int> ended{0};
    finish([&] {
      for (int i = 0; i < 10'000; ++i) async([&] { ended.fetch_add(1, std::memory_order_relaxed); });
    });
    CHECK(ended == 10'000);
  });
}

TEST_CASE("finish, future: where waiting is forbidden they throw before they begin") {
  on_workers([] {
    const no_waiting guard;
    shunt::promise<int> never;
    const auto value = never.get_future();
    bool ran = false;
    shunt::sched::this_worker::forbid_wait(&guard);
    CHECK_THROWS_AS(finish([&] { ran = true; }), refused);
    CHECK_THROWS_AS(value.get(), refused);
    shunt::sched::this_worker::forbid_wait(nullptr);
    CHECK_FALSE(ran);
    never.set_value(3);
    CHECK(value.get() == 3);
  });
}

TEST_CASE("future: several fibers wait for one value, and each gets it") {
  on_workers([] {
    shunt::promise<std::string> p;
    const auto f = p.get_future();
    CHECK(f.valid());
    CHECK_FALSE(f.ready());
    std::atomic<int> got{0};
    finish([&] {
      for (int i = 0; i < 50; ++i) async([&got, f] { got += f.get() == "value"; });
      async([&p] {
        for (int i = 0; i < 5; ++i) this_fiber::yield();
        p.set_value("value");
      });
    });
    CHECK(got == 50);
    CHECK(f.ready());
  });
}

TEST_CASE("future: delivers exceptions, to each reader, and void") {
  on_workers([] {
    shunt::promise<void> p;
    const auto f = p.get_future();
    p.set_exception(std::make_exception_ptr(std::logic_error("set")));
    CHECK_THROWS_WITH(f.get(), "set");
    CHECK_THROWS_WITH(f.get(), "set");
    CHECK_NOTHROW(f.wait());
    CHECK_THROWS_AS(p.set_value(), shunt::error);
    shunt::promise<void> q;
    q.set_value();
    CHECK_NOTHROW(q.get_future().get());
  });
}

TEST_CASE("promise: one that is destroyed or assigned to unsatisfied breaks its futures") {
  on_workers([] {
    shunt::future<int> f;
    CHECK_FALSE(f.valid());
    CHECK_THROWS_AS(f.get(), shunt::error);
    finish([&] {
      shunt::promise<int> p;
      f = p.get_future();
      async([q = std::move(p)] { this_fiber::yield(); });
      CHECK_THROWS_AS(f.get(), shunt::broken_promise);
      CHECK_THROWS_AS(p.set_value(1), shunt::error);
      CHECK_THROWS_AS(p.get_future(), shunt::error);
    });
    shunt::promise<int> a;
    const auto of_a = a.get_future();
    a = shunt::promise<int>();
    CHECK_THROWS_AS(of_a.get(), shunt::broken_promise);
  });
}

TEST_CASE("promise: a foreign thread may satisfy it while the fiber parks") {
  on_workers([] {
    for (int i = 0; i < 50; ++i) {
      shunt::promise<int> p;
      const auto f = p.get_future();
      std::thread setter([&p, i] { p.set_value(i); });
      CHECK(f.get() == i);
      setter.join();
    }
  });
}

TEST_CASE("future: a plain thread waits for it, for its exception, and not beyond a deadline or a stop") {
  shunt::promise<int> made, broken, never;
  const auto value = made.get_future(), failure = broken.get_future(), nothing = never.get_future();
  CHECK_FALSE(nothing.wait_for(1ms));
  std::stop_source stop;
  std::thread stops([&] { stop.request_stop(); });
  CHECK_FALSE(nothing.wait(stop.get_token()));
  stops.join();
  std::thread satisfies([&] {
    shunt::sched::runtime rt({.workers = 1});
    rt.run([&] {
      made.set_value(7);
      broken.set_exception(std::make_exception_ptr(std::runtime_error("no luck")));
    });
  });
  CHECK(value.get() == 7);
  CHECK_THROWS_WITH(failure.get(), "no luck");
  satisfies.join();
  CHECK(value.wait_for(1h));
  CHECK(value.wait(stop.get_token()));
}

TEST_CASE("future: deadlines of threads that race with its promise lose no result") {
  std::atomic<int> wrong = 0;
  for (int round = 0; round < 300; ++round) {
    shunt::promise<int> made;
    const auto value = made.get_future();
    std::stop_source stop;
    std::thread waits([&] {
      static_cast<void>(
          value.wait_until(shunt::sched::now() + std::chrono::microseconds(round % 7 * 10), stop.get_token()));
      if (value.get() != round) ++wrong;
    });
    std::thread stops([&] { stop.request_stop(); });
    made.set_value(round);
    waits.join();
    stops.join();
  }
  CHECK(wrong == 0);
}

TEST_CASE("async_value: delivers a task's result, its exception, void, and move-only values") {
  on_workers([] {
    auto number = async_value([] { return 42; });
    auto nothing = async_value([] { this_fiber::yield(); });
    auto unique = async_value([p = std::make_unique<int>(7)]() mutable { return std::move(p); });
    auto fails = async_value([]() -> int { throw std::runtime_error("no value"); });
    CHECK(number.get() == 42);
    nothing.get();
    CHECK(*unique.take() == 7);
    CHECK_THROWS_WITH(fails.get(), "no value");
    finish([] { static_cast<void>(async_value([]() -> int { throw 1; })); });  // the finish does not throw it
  });
}
