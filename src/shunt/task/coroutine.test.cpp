#include <atomic>
#include <catch2/catch.hpp>
#include <memory>
#include <shunt/task.hpp>
#include <shunt/task/coroutine.hpp>
#include <stdexcept>
#include <string>
#include <support/runtimes.hpp>
#include <thread>
#include <vector>

namespace this_fiber = shunt::sched::this_fiber;
using shunt::coroutine_task;
using shunt::finish;
using shunt::future;
using shunt::promise;
using shunt::start;
using shunt::testing::on_workers;

namespace {

coroutine_task<int> sum_of(future<int> a, future<int> b) {
  const int left = co_await a;
  const int right = co_await b;
  co_return left + right;
}

coroutine_task<long> total(future<long> a, future<long> b) { co_return co_await a + co_await b; }

coroutine_task<> note(future<int> f, int& into) { into = co_await f; }

coroutine_task<std::string> text_of(future<int> a, future<int> b) {
  const int sum = co_await sum_of(a, b);
  co_return std::to_string(sum);
}

coroutine_task<int> failing(future<int> f) {
  const int got = co_await f;
  if (got == 3) throw std::runtime_error("three");
  co_return got;
}

coroutine_task<std::unique_ptr<int>> boxed(future<int> f) { co_return std::make_unique<int>(co_await f); }

coroutine_task<int> deep(int levels, future<int> f) {
  if (levels == 0) co_return co_await f;
  const int below = co_await deep(levels - 1, f);
  co_return below + 1;
}

coroutine_task<> spawner(future<void> gate, std::atomic<int>& ended) {
  co_await gate;
  shunt::async([&ended] {
    this_fiber::yield();
    ++ended;
  });
  const auto both = shunt::fork_join([] { return 1; }, [] { return 2; });
  ended += both.first + both.second;
}

}  // namespace

TEST_CASE("co_await: a coroutine that awaits ready futures runs to its end on the caller's fiber") {
  on_workers([] {
    promise<int> p;
    p.set_value(20);
    const auto f = p.get_future();
    finish([&] {
      const auto sum = start(sum_of(f, f));
      CHECK(sum.ready());
      CHECK(sum.get() == 40);
      int got = 0;
      const auto noted = start(note(f, got));
      CHECK(noted.ready());
      CHECK(got == 20);
      CHECK(*start(boxed(f)).take() == 20);
    });
  });
}

TEST_CASE("co_await: waits, and goes on when a fiber or a foreign thread satisfies the future") {
  on_workers([] {
    for (int round = 0; round < 20; ++round) {
      promise<int> a;
      promise<int> b;
      future<int> sum;
      future<std::string> text;
      finish([&] {
        sum = start(sum_of(a.get_future(), b.get_future()));
        text = start(text_of(b.get_future(), a.get_future()));
        CHECK_FALSE(sum.ready());
        std::thread foreign([&] { b.set_value(2); });
        shunt::async([&] { a.set_value(round); });
        CHECK(sum.get() == round + 2);  // a fiber waits for a coroutine
        foreign.join();
      });
      CHECK(text.get() == std::to_string(round + 2));
    }
  });
}

TEST_CASE("co_await: throws the exception of the awaited future or coroutine") {
  on_workers([] {
    promise<int> p;
    promise<int> broken;
    future<int> thrown;
    future<int> handed_on;
    finish([&] {
      thrown = start(failing(p.get_future()));
      handed_on = start(sum_of(p.get_future(), broken.get_future()));
      p.set_value(3);
      broken = promise<int>();
    });
    CHECK_THROWS_WITH(thrown.get(), "three");
    CHECK_THROWS_AS(handed_on.get(), shunt::broken_promise);
    finish([&] {
      const auto none = start(failing(future<int>()));
      CHECK_THROWS_AS(none.get(), shunt::error);
    });
  });
}

TEST_CASE("co_await: works twice in one expression, on the results of tasks") {
  on_workers([] {
    const auto x = shunt::async_value([] { return 30L; });
    const auto y = shunt::async_value([] { return 12L; });
    future<long> sum;
    finish([&] { sum = start(total(x, y)); });
    CHECK(sum.get() == 42);
  });
}

TEST_CASE("coroutine_task: awaits other coroutine_tasks, at any depth") {
  on_workers([] {
    promise<int> p;
    future<int> depth;
    finish([&] {
      depth = start(deep(500, p.get_future()));
      p.set_value(1);
    });
    CHECK(depth.get() == 501);
  });
}

TEST_CASE("coroutine_task: the finish waits for it, and for the tasks that it makes after a wait") {
  on_workers([] {
    std::atomic<int> ended{0};
    promise<void> gate;
    finish([&] {
      for (int i = 0; i < 100; ++i) {
        static_cast<void>(start(spawner(gate.get_future(), ended)));
      }
      shunt::async([&] { gate.set_value(); });
    });
    CHECK(ended == 400);
  });
}

TEST_CASE("coroutine_task: its captures are destroyed before the finish ends, started or not") {
  on_workers([] {
    const auto counted = std::make_shared<int>(0);
    const auto body = [](std::shared_ptr<int> kept, future<void> gate) -> coroutine_task<> {
      co_await gate;
      ++*kept;
    };
    promise<void> gate;
    finish([&] {
      static_cast<void>(start(body(counted, gate.get_future())));
      const auto never = body(counted, gate.get_future());
      gate.set_value();
    });
    CHECK(counted.use_count() == 1);
    CHECK(*counted == 1);
  });
}

TEST_CASE("start: outside of any finish it throws usage_error, and the coroutine never runs") {
  on_workers([] {
    int got = 0;
    promise<int> p;
    p.set_value(1);
    CHECK_THROWS_AS(start(note(p.get_future(), got)), shunt::usage_error);
    CHECK(got == 0);
  });
}
