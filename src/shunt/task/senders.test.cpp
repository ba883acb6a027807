// Against tests/execution, the stand-in for a library of senders and receivers; cmake/tests.cmake says how.
#include <array>
#include <atomic>
#include <catch2/catch.hpp>
#include <memory>
#include <optional>
#include <shunt/task.hpp>
#include <shunt/task/senders.hpp>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <support/expect.hpp>
#include <support/refused_stacks.hpp>
#include <support/runtimes.hpp>
#include <system_error>
#include <thread>
#include <tuple>
#include <utility>

#if !SHUNT_SENDERS
#error "the stand-in for senders was not found"
#endif

namespace this_fiber = shunt::sched::this_fiber;
using shunt::coroutine_task;
using shunt::future;
using shunt::promise;
using shunt::task::as_sender;
using shunt::task::fiber_scheduler;
using shunt::task::sync_wait;
using shunt::testing::expect;
using shunt::testing::expect_place;
using shunt::testing::on_workers;
using shunt::testing::thrown_by;

namespace {

static_assert(stdexec::scheduler<fiber_scheduler>);
static_assert(stdexec::sender<decltype(fiber_scheduler().schedule())>);
static_assert(stdexec::sender<decltype(as_sender(std::declval<future<int>>()))>);

template <typename Sender>
using ends = stdexec::completion_signatures_of_t<Sender, stdexec::env_of_t<Sender>>;
template <typename Value>
using ends_with =
    stdexec::completion_signatures<Value, stdexec::set_error_t(std::exception_ptr), stdexec::set_stopped_t()>;
static_assert(std::is_same_v<ends<decltype(fiber_scheduler().schedule())>, ends_with<stdexec::set_value_t()>>);
static_assert(std::is_same_v<ends<decltype(as_sender(std::declval<future<int>>()))>,
                             ends_with<stdexec::set_value_t(const int&)>>);
static_assert(
    std::is_same_v<ends<decltype(as_sender(std::declval<future<void>>()))>, ends_with<stdexec::set_value_t()>>);
static_assert(std::is_same_v<ends<decltype(as_sender(std::declval<coroutine_task<std::string>>()))>,
                             ends_with<stdexec::set_value_t(std::string)>>);
static_assert(std::is_same_v<ends<decltype(as_sender([](const std::stop_token&) { return 1L; }))>,
                             ends_with<stdexec::set_value_t(long)>>);

/// How an operation ended, for a test that looks from outside. It may end once.
struct outcome {
  std::atomic<int> values{0}, errors{0}, stops{0};
  stdexec::inplace_stop_source stop;

  [[nodiscard]] int ends() const { return values + errors + stops; }
};

struct test_env {
  [[nodiscard]] stdexec::inplace_stop_token query(stdexec::get_stop_token_t) const noexcept { return token; }
  stdexec::inplace_stop_token token;
};

struct test_receiver {
  using receiver_concept = shunt::task::detail::execution::receiver;  // in either spelling
  template <typename... Values>
  void set_value(Values&&...) noexcept {
    ++of->values;
  }
  void set_error(const std::exception_ptr&) noexcept { ++of->errors; }
  void set_stopped() noexcept { ++of->stops; }
  [[nodiscard]] test_env get_env() const noexcept { return {of->stop.get_token()}; }
  outcome* of;
};

coroutine_task<int> doubled(future<int> f) {
  const int got = co_await f;
  co_return 2 * got;
}
coroutine_task<> refusing(future<int> f) {
  const int got = co_await f;
  if (got == 3) throw std::runtime_error("three");
}
coroutine_task<int> holding(std::shared_ptr<int> kept, future<int> f) { co_return *kept + co_await f; }

}  // namespace

TEST_CASE("fiber_scheduler: is of one runtime, and equal to the others of it") {
  shunt::sched::runtime first, second;
  CHECK(fiber_scheduler(first) == fiber_scheduler(first));
  CHECK_FALSE(fiber_scheduler(first) == fiber_scheduler(second));
  CHECK(&fiber_scheduler(first).runtime() == &first);
  first.run([&] {
    expect(fiber_scheduler() == fiber_scheduler(first));
    expect(stdexec::get_completion_scheduler<stdexec::set_value_t>(
               stdexec::get_env(stdexec::schedule(fiber_scheduler()))) == fiber_scheduler(first));
  });
  CHECK(thrown_by<shunt::usage_error>([] { fiber_scheduler of_no_runtime; }).find("fiber_scheduler") == 0);
}

TEST_CASE("schedule: ends in a fiber of the scheduler, which may wait") {
  on_workers([] {
    const fiber_scheduler pool;
    promise<int> later;
    auto waits = stdexec::then(stdexec::schedule(pool), [f = later.get_future()] { return f.get() + 1; });
    auto sets = stdexec::then(stdexec::schedule(pool), [&] {
      later.set_value(41);
      return this_fiber::inside();
    });
    const auto both = sync_wait(stdexec::when_all(std::move(waits), std::move(sets)));
    expect(both == std::tuple(42, true));
  });
}

TEST_CASE("schedule: a thread outside starts it, and waits as the library does") {
  shunt::sched::runtime rt;
  rt.run([&] {
    promise<int> done;
    std::thread outside([&] {
      const auto [on_worker] = *stdexec::sync_wait(
          stdexec::then(stdexec::schedule(fiber_scheduler(rt)), [] { return this_fiber::inside(); }));
      done.set_value(on_worker ? 1 : 0);
    });
    expect(done.get_future().get() == 1);
    outside.join();
  });
}

TEST_CASE("schedule: started before run(), it ends in the run; without a run, it is stopped with the runtime") {
  outcome in_run{}, in_none{};
  {
    shunt::sched::runtime rt;
    auto operation = stdexec::connect(fiber_scheduler(rt).schedule(), test_receiver{&in_run});
    stdexec::start(operation);
    CHECK(in_run.ends() == 0);
    rt.run([] {});
    CHECK(in_run.values == 1);
  }
  auto rt = std::make_unique<shunt::sched::runtime>();
  auto operation = stdexec::connect(fiber_scheduler(*rt).schedule(), test_receiver{&in_none});
  stdexec::start(operation);
  CHECK(in_none.ends() == 0);
  rt.reset();
  CHECK(in_none.stops == 1);
  CHECK(in_none.ends() == 1);
}

TEST_CASE("schedule: a stop that was requested before start(), or before its fiber runs, ends it as stopped") {
  shunt::sched::options one;
  one.workers = 1;
  shunt::sched::runtime(one).run([] {
    const fiber_scheduler pool;
    outcome before, between;
    before.stop.request_stop();
    auto first = stdexec::connect(pool.schedule(), test_receiver{&before});
    stdexec::start(first);
    expect(before.stops == 1);
    auto second = stdexec::connect(pool.schedule(), test_receiver{&between});
    stdexec::start(second);
    expect(between.ends() == 0);  // one worker: its fiber has not run yet
    between.stop.request_stop();
    while (between.ends() == 0) this_fiber::yield();
    expect(between.stops == 1);
  });
}

TEST_CASE("schedule: is stopped once the run was asked to stop") {
  on_workers([] {
    const fiber_scheduler pool;
    expect(sync_wait(pool.schedule()).has_value());
    pool.runtime().request_stop();
    expect(!sync_wait(pool.schedule()).has_value());
    expect(!sync_wait(as_sender(pool, [] { return 1; })).has_value());
    expect(!sync_wait(as_sender(pool, promise<int>().get_future())).has_value());
    expect(!sync_wait(as_sender(pool, doubled(promise<int>().get_future()))).has_value());
  });
}

TEST_CASE("as_sender: a function's result, of any type, or its exception") {
  on_workers([] {
    const fiber_scheduler pool;
    expect(sync_wait(as_sender(pool, [] { return 7; })) == std::tuple(7));
    expect(sync_wait(as_sender([] {})) == std::tuple());
    auto moved = sync_wait(as_sender(pool, [held = std::make_unique<int>(5)]() mutable { return std::move(held); }));
    expect(*std::get<0>(*moved) == 5);
    const int outer = 3;
    expect(sync_wait(as_sender(pool, [&]() -> const int& { return outer; })) == std::tuple(3));
    const auto fails = [] { throw std::runtime_error("no"); };
    expect(thrown_by<std::runtime_error>([&] { static_cast<void>(sync_wait(as_sender(pool, fails))); }) == "no");
  });
}

TEST_CASE("as_sender: one sender of a function is started again and again, by copies") {
  on_workers([] {
    std::atomic<int> calls{0};
    const auto counts = as_sender([&calls] { return ++calls; });
    for (int i = 1; i <= 3; ++i) expect(sync_wait(counts) == std::tuple(i));
  });
}

TEST_CASE("as_sender: a function's tasks have ended when it ends") {
  on_workers([] {
    std::atomic<int> ended{0};
    static_cast<void>(sync_wait(as_sender([&] {
      for (int i = 0; i < 10; ++i) {
        shunt::async([&] {
          this_fiber::yield();
          ++ended;
        });
      }
    })));
    expect(ended == 10);
  });
}

TEST_CASE("as_sender: a function that waits with the token is stopped, by the sibling that fails") {
  on_workers([] {
    const fiber_scheduler pool;
    promise<int> never;
    auto waits = as_sender(pool, [f = never.get_future()](const std::stop_token& stop) { return f.wait(stop); });
    auto fails = as_sender(pool, []() -> int { throw std::runtime_error("sibling"); });
    expect(thrown_by([&] { static_cast<void>(sync_wait(stdexec::when_all(std::move(waits), std::move(fails)))); }) ==
           "sibling");
  });
}

TEST_CASE("as_sender: what a function returns after a stop decides: false, nothing and `stopped` are a stop") {
  enum class end { done, stopped };
  on_workers([] {
    const fiber_scheduler pool;
    const auto stopped = [&](auto result) {
      outcome o;
      auto operation = stdexec::connect(as_sender(pool,
                                                  [&o, result](const std::stop_token& stop) {
                                                    o.stop.request_stop();
                                                    expect(stop.stop_requested());
                                                    return result;
                                                  }),
                                        test_receiver{&o});
      stdexec::start(operation);
      while (o.ends() == 0) this_fiber::yield();
      expect(o.ends() == 1 && o.errors == 0);
      return o.stops == 1;
    };
    expect(stopped(false));
    expect(!stopped(true));
    expect(stopped(std::optional<int>()));
    expect(!stopped(std::optional<int>(0)));
    expect(stopped(end::stopped));
    expect(!stopped(end::done));
    expect(!stopped(0));
    // Without a stop the same results are values.
    expect(sync_wait(as_sender(pool, [](const std::stop_token&) { return false; })) == std::tuple(false));
    expect(sync_wait(as_sender(pool, [](const std::stop_token&) { return end::stopped; })).has_value());
  });
}

TEST_CASE("as_sender: a run that is asked to stop stops a function that waits with the token") {
  on_workers([] {
    const fiber_scheduler pool;
    promise<void> never, begun;
    auto waits = as_sender(pool, [&, f = never.get_future()](const std::stop_token& stop) {
      begun.set_value();
      return f.wait(stop);
    });
    shunt::async([&, started = begun.get_future()] {
      started.get();
      pool.runtime().request_stop();
    });
    expect(!sync_wait(std::move(waits)).has_value());
  });
}

TEST_CASE("as_sender: a future's result, to any number of operations, whether it is ready or not") {
  on_workers([] {
    const fiber_scheduler pool;
    promise<std::unique_ptr<int>> made;
    const auto result = made.get_future();
    const auto look = [](const std::unique_ptr<int>& p) { return *p; };
    shunt::async([&made] {
      this_fiber::yield();
      made.set_value(std::make_unique<int>(9));
    });
    expect(sync_wait(stdexec::when_all(stdexec::then(as_sender(pool, result), look),
                                       stdexec::then(as_sender(pool, result), look))) == std::tuple(9, 9));
    expect(sync_wait(stdexec::then(as_sender(result), look)) == std::tuple(9));
    promise<void> nothing;
    nothing.set_value();
    expect(sync_wait(as_sender(nothing.get_future())) == std::tuple());
  });
}

TEST_CASE("as_sender: a future's exception, a broken promise, and a future of none") {
  on_workers([] {
    promise<int> fails;
    fails.set_exception(std::make_exception_ptr(std::runtime_error("set")));
    const auto wait_for = [](future<int> f) { return [f] { static_cast<void>(sync_wait(as_sender(f))); }; };
    expect(thrown_by<std::runtime_error>(wait_for(fails.get_future())) == "set");
    future<int> broken;
    {
      const promise<int> goes;
      broken = goes.get_future();
    }
    expect(!thrown_by<shunt::broken_promise>(wait_for(broken)).empty());
    expect(thrown_by<shunt::error>(wait_for(future<int>())).find("as_sender") == 0);
  });
}

TEST_CASE("as_sender: a stop ends the wait for a future; what comes later finds no listener") {
  on_workers([] {
    const fiber_scheduler pool;
    outcome o;
    promise<int> later;
    {
      auto operation = stdexec::connect(as_sender(pool, later.get_future()), test_receiver{&o});
      stdexec::start(operation);
      for (int i = 0; i < 10; ++i) this_fiber::yield();
      expect(o.ends() == 0);
      o.stop.request_stop();
      while (o.ends() == 0) this_fiber::yield();
      expect(o.stops == 1);
    }
    later.set_value(1);
    for (int i = 0; i < 10; ++i) this_fiber::yield();
    expect(o.ends() == 1);
  });
}

TEST_CASE("as_sender: of a future's result and a stop that race one ends the operation") {
  shunt::sched::options four;
  four.workers = 4;
  shunt::sched::runtime(four).run([] {
    const fiber_scheduler pool;
    for (int round = 0; round < 2000; ++round) {
      outcome o;
      promise<int> result;
      auto operation = stdexec::connect(as_sender(pool, result.get_future()), test_receiver{&o});
      shunt::finish([&] {
        shunt::async([&] { stdexec::start(operation); });
        shunt::async([&] { result.set_value(1); });
        shunt::async([&] { o.stop.request_stop(); });
      });
      while (o.ends() == 0) this_fiber::yield();
      expect(o.ends() == 1 && o.errors == 0);
    }
  });
}

TEST_CASE("as_sender: a coroutine's result, or its exception, after its frames are gone") {
  on_workers([] {
    const fiber_scheduler pool;
    promise<int> later;
    shunt::async([&later] {
      this_fiber::yield();
      later.set_value(21);
    });
    expect(sync_wait(as_sender(pool, doubled(later.get_future()))) == std::tuple(42));
    promise<int> three;
    three.set_value(3);
    expect(thrown_by<std::runtime_error>(
               [&] { static_cast<void>(sync_wait(as_sender(refusing(three.get_future())))); }) == "three");
    auto kept = std::make_shared<int>(1);
    const std::weak_ptr<int> watch = kept;
    expect(sync_wait(stdexec::then(as_sender(holding(std::move(kept), three.get_future())),
                                   [watch](int sum) { return watch.expired() ? sum : -1; })) == std::tuple(4));
  });
}

TEST_CASE("as_sender: a coroutine that is never started is destroyed, and does not run") {
  on_workers([] {
    auto kept = std::make_shared<int>(1);
    const std::weak_ptr<int> watch = kept;
    {
      auto dropped = as_sender(holding(std::move(kept), promise<int>().get_future()));
    }
    expect(watch.expired());
  });
}

TEST_CASE("sync_wait: is for fibers that may wait, and throws before it starts anything") {
  CHECK_THROWS_AS(sync_wait(stdexec::just(1)), shunt::usage_error);
  shunt::sched::runtime().run([] {
    bool ran = false;
    auto work = as_sender([&ran] { ran = true; });
    const shunt::testing::no_waiting refuses;
    const auto* const before = shunt::sched::this_worker::forbid_wait(&refuses);
    std::string call;
    try {
      static_cast<void>(sync_wait(work));
    } catch (const shunt::testing::refused& why) {
      call = why.call;
    }
    shunt::sched::this_worker::forbid_wait(before);
    expect(call == "sync_wait" && !ran);
    static_cast<void>(sync_wait(work));
    expect(ran);
  });
}

TEST_CASE("senders: errors of calls outside of a fiber name the call's line") {
  expect_place<shunt::usage_error>([] { fiber_scheduler of_no_runtime; });
  expect_place<shunt::usage_error>([] { static_cast<void>(as_sender([] {})); });
  expect_place<shunt::usage_error>([] { static_cast<void>(sync_wait(stdexec::just(1))); });
}

TEST_CASE("sync_wait: a sender that ends at once, with several values") {
  on_workers([] { expect(sync_wait(stdexec::just(1, std::string("two"))) == std::tuple(1, std::string("two"))); });
}

TEST_CASE("senders: an operation that gets no stack ends with the error that says so") {
  const int refusals = shunt::testing::with_each_stack_refused([] {
    shunt::sched::options one;
    one.workers = 1;
    shunt::sched::runtime(one).run([] {
      promise<int> ready;
      ready.set_value(2);
      const auto sum =
          sync_wait(stdexec::when_all(as_sender([] { return 1; }), as_sender(doubled(ready.get_future())),
                                      stdexec::then(as_sender(ready.get_future()), [](int v) { return v; })));
      expect(sum == std::tuple(1, 4, 2));
    });
  });
  CHECK(refusals > 0);
}
