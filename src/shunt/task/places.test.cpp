// Errors name the line of the program's call.
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <exception>
#include <shunt/task.hpp>
#include <source_location>
#include <string>
#include <support/expect.hpp>
#include <tuple>
#include <vector>

namespace this_fiber = shunt::sched::this_fiber;
using shunt::error;
using shunt::usage_error;
using shunt::testing::expect;
using shunt::testing::expect_place;

namespace {

/// Refuses waits as the library does: with the call's line.
struct refusing_waits final : shunt::sched::no_wait {
  [[noreturn]] void refuse(shunt::call_site call) const override {
    throw usage_error(std::string(call.name()) + call.place(), call.where());
  }
};

}  // namespace

TEST_CASE("errors: what is called outside of a fiber names its call's line") {
  expect_place<usage_error>([] { shunt::finish([] {}); });
  expect_place<usage_error>([] { shunt::async([] {}); });
  expect_place<usage_error>([] { shunt::async({.name = "one"}, [] {}); });
  expect_place<usage_error>([] { static_cast<void>(shunt::async_value([] { return 1; })); });
  expect_place<usage_error>([] { shunt::parallel_for(0, 9, [](int) {}); });
  expect_place<usage_error>([] { shunt::parallel_for(0, 9, 3, [](int) {}); });
  const auto reduce = [](auto... grain) {
    return shunt::parallel_reduce(0, 9, grain..., 0, [](int i) { return i; }, [](int a, int b) { return a + b; });
  };
  CHECK_THROWS_AS(reduce(), usage_error);
  CHECK_THROWS_AS(reduce(2), usage_error);
  expect_place<usage_error>([] { shunt::task_group group; });
  expect_place<usage_error>([] { shunt::with_timeout(std::chrono::hours(1), [](shunt::task_group&) {}); });
  expect_place<usage_error>([] { shunt::with_deadline({}, [](shunt::task_group&) {}); });
  expect_place<usage_error>([] { this_fiber::sleep_for(std::chrono::nanoseconds(1)); });
  expect_place<usage_error>([] { this_fiber::sleep_until({}); });
}

TEST_CASE("errors: a future without a result, and a promise that is satisfied, name the call's line") {
  using shunt::future;
  expect_place<error>([] { future<int>().get(); });
  expect_place<error>([] { future<int>().wait(); });
  expect_place<error>([] { static_cast<void>(future<int>().take()); });
  expect_place<error>([] { static_cast<void>(shunt::then(future<int>(), [](int) {})); });
  expect_place<error>([] { static_cast<void>(future<int>().wait_for({})); });
  expect_place<error>([] { static_cast<void>(future<int>().wait(std::stop_token())); });
  expect_place<error>([] { shunt::fiber().join(); });
  expect_place<error>([] { static_cast<void>(shunt::fiber().join_for({})); });
  shunt::promise<int> done;
  done.set_value(1);
  const auto why = std::make_exception_ptr(1);
  expect_place<error>([&] { done.set_exception(why); });
  const auto moved = std::move(done);
  expect_place<error>([&] { static_cast<void>(done.get_future()); });
}

TEST_CASE("errors: a promise names the line of set_value, and when_all and when_any theirs") {
  using shunt::future;
  shunt::promise<int> number;
  number.set_value(1);
  expect_place<error>([&] { number.set_value(2); });
  shunt::promise<void> nothing;
  nothing.set_value();
  expect_place<error>([&] { nothing.set_value(); });
  shunt::promise<std::string> text;
  text.set_value();
  expect_place<error>([&] { text.set_value(); });
  expect_place<error>([&] { text.set_value("a"); });
  // What a line is made of is the result, and no line.
  shunt::promise<std::source_location> line;
  line.set_value(std::source_location::current());
  CHECK(line.get_future().get().line() == std::source_location::current().line() - 1);
  const future<int> none;
  expect_place<error>([&] { static_cast<void>(shunt::when_all(none, none)); });
  expect_place<error>([&] { static_cast<void>(shunt::when_all(none, none, none)); });
  expect_place<error>([&] { static_cast<void>(shunt::when_all(none, none, none, none)); });
  expect_place<error>([&] { static_cast<void>(shunt::when_any(none, none)); });
  expect_place<error>([&] { static_cast<void>(shunt::when_any(none, none, none)); });
  expect_place<error>([&] { static_cast<void>(shunt::when_any(none, none, none, none)); });
  expect_place<error>([&] { static_cast<void>(shunt::when_all(std::vector{none})); });
  expect_place<usage_error>([&] { static_cast<void>(shunt::when_any(std::vector<future<int>>())); });
  // The overloads for these numbers take what the general one takes.
  const auto ready = number.get_future();
  const auto all = shunt::when_all(ready, text.get_future(), ready, text.get_future()).get();
  CHECK(std::get<0>(all).get() == 1);
  CHECK(std::get<3>(all).get().empty());
  CHECK(std::get<0>(shunt::when_all(ready).get()).get() == 1);
  CHECK(std::get<4>(shunt::when_all(ready, ready, ready, ready, ready).get()).get() == 1);
  CHECK(shunt::when_any(ready).get().index == 0);
  CHECK(shunt::when_any(ready, ready, ready, ready, ready).get().index == 0);
  CHECK(shunt::when_all().ready());
}

TEST_CASE("errors: fibers and runtimes that cannot be name the line that makes them") {
  expect_place<usage_error>([] { shunt::fiber outside([] {}); });
  expect_place<usage_error>([] { shunt::sched::runtime less({.workers = -1}); });
  expect_place<usage_error>([] { shunt::sched::runtime large({.stack_bytes = ~std::size_t{0}}); });
  shunt::sched::runtime rt({.workers = 1});
  expect_place<usage_error>([&] { rt.spawn([] {}, {.worker = 1}); });
  expect_place<usage_error>([&] { rt.spawn([] {}, {.stack_bytes = ~std::size_t{0}}); });
  expect_place<usage_error>([&] { rt.spawn([] {}, {.migrates = true, .compact = true}); });
  rt.run([] {
    expect_place<usage_error>([] { shunt::fiber nowhere([] {}, {.worker = 1}); });
    expect_place<usage_error>([] { shunt::async({.worker = 1}, [] {}); });
    shunt::task_group group;
    expect_place<usage_error>([&] { group.spawn({.worker = 1}, [] {}); });
  });
}

TEST_CASE("errors: railways of impossible sizes, and stations that cannot be, name the call's line") {
  using numbers = shunt::railway<int>;
  expect_place<usage_error>([] { numbers({.capacity = std::size_t{1} << 40U}); });
  expect_place<usage_error>([] { numbers({.capacity = 1, .trains = ~std::size_t{0}}); });
  numbers line({.capacity = 1}), other;
  auto& in = line.source("in");
  auto& of_other = other.source("of another line");
  expect_place<usage_error>([&] { line.after({&of_other}); });
  expect_place<usage_error>([&] { line.after({&in, &in}, "twice"); });
  expect_place<usage_error>([&] { line.after(std::vector<numbers::cursor*>()); });
  expect_place<usage_error>([&] { line.after(std::vector<numbers::loader*>{&of_other}); });
  auto& out = line.after({&in}, "out");
  in.put(1);
  REQUIRE(out.arrive());
  expect_place<usage_error>([&] { out.resize(0); });
  expect_place<usage_error>([&] { line.run(-1); });
}

TEST_CASE("errors: a station that would have to wait where waiting is forbidden names the call's line") {
  const auto profile = GENERATE(shunt::wait_profile::latency, shunt::wait_profile::balanced);
  shunt::railway<int> line({.capacity = 1, .trains = 2, .wait = profile});
  auto& in = line.source("in");
  auto& out = line.after({&in}, "out");
  shunt::sched::runtime({.workers = 1}).run([&] {
    const refusing_waits refuses;
    const shunt::sched::waits_forbidden here(refuses);
    const auto hour = std::chrono::hours(1);
    expect_place<usage_error>([&] { static_cast<void>(out.arrive()); });
    expect_place<usage_error>([&] { static_cast<void>(out.arrive_for(hour)); });
    expect_place<usage_error>([&] { static_cast<void>(out.arrive_until(shunt::sched::after(hour))); });
    expect(!out.arrive_for({}));  // it does not wait
    expect(in.put(1) && in.put(2));
    expect_place<usage_error>([&] { in.put(3); });
    expect_place<usage_error>([&] { static_cast<void>(in.board()); });
    expect_place<usage_error>([&] { static_cast<void>(in.board_for(hour)); });
    expect_place<usage_error>([&] { static_cast<void>(in.board_until(shunt::sched::after(hour))); });
    expect_place<usage_error>([&] { static_cast<void>(in.await_returned()); });
    line.request_stop();
    expect(in.board().empty());  // an end is no wait either
    expect(out.arrive() && out.arrive());
    in.close();
    expect(!out.arrive() && out.ended());
  });
}

TEST_CASE("errors: a wait where waiting is forbidden, and a run inside a run, name the call's line") {
  shunt::sched::runtime rt;
  rt.run([&] {
    expect_place<usage_error>([&] { rt.run([] {}); });
    shunt::promise<int> never;
    std::atomic<bool> ended{false};
    rt.spawn(
        [&, f = never.get_future()] {
          expect_place<usage_error>([&] { f.get(); });  // the text says `compact`
          expect_place<usage_error>([&] { shunt::finish([] {}); });
          ended = true;
        },
        {.compact = true});
    while (!ended) this_fiber::yield();
    expect_place<usage_error>([&] { shunt::parallel_for(0, 9, 0, [](int) {}); });
  });
}

TEST_CASE("errors: a circle of waits names the line of the wait that closes it") {
  shunt::sched::runtime().run([] {
    shunt::future<int> own;
    std::atomic<bool> set{false};
    own = shunt::async_value([&] {
      while (!set) this_fiber::yield();
      expect_place<shunt::sched::deadlock>([&] { own.get(); });
      return 1;
    });
    set = true;
    own.wait();
  });
}

TEST_CASE("errors: where the line is not known, none is named, and where() is the library's") {
  try {
    static_cast<void>(shunt::sched::this_worker::current("somewhere"));
    FAIL("nothing was thrown");
  } catch (const usage_error& thrown) {
    CHECK(std::string(thrown.what()).find(".cpp:") == std::string::npos);
    CHECK(std::string(thrown.where().file_name()).find("worker.cpp") != std::string::npos);
  }
}
