// Errors name the line of the program's call.
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <exception>
#include <shunt/task.hpp>
#include <string>
#include <support/expect.hpp>

namespace this_fiber = shunt::sched::this_fiber;
using shunt::error;
using shunt::usage_error;
using shunt::testing::expect_place;

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
