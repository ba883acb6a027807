// Errors name the line of the program's call.
#include <shunt/actor.hpp>

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstddef>
#include <memory>
#include <source_location>
#include <string>
#include <string_view>
#include <support/expect.hpp>
#include <thread>

using namespace std::chrono_literals;
using shunt::actor_options;
using shunt::manager;
using shunt::overflow;
using shunt::ref;
using shunt::usage_error;
using shunt::testing::expect;
using shunt::testing::expect_place;
using shunt::testing::expect_thrown;

namespace {

shunt::sched::options one_worker() { return {.workers = 1}; }

struct sums {
  void none() {}
  int one(int a) { return a; }
  int two(int a, int b) { return a + b; }
  int three(int a, int b, int c) { return a + b + c; }
  int four(int a, int b, int c, int d) { return a + b + c + d; }
  int five(int a, int b, int c, int d, int e) { return a + b + c + d + e; }
  int line(int a, std::source_location where) { return a + static_cast<int>(where.line()); }
  void ended(const shunt::ended&) {}
  /// Fills its own mailbox, which only it can empty.
  int floods(ref<sums> self) {
    expect_place<shunt::sched::deadlock>([&] {
      for (int i = 0; i < 100; ++i) self.tell<&sums::none>();
    });
    return 1;
  }
};

/// Its constructor's argument cannot be kept for a supervisor.
struct unkept {
  explicit unkept(std::unique_ptr<int>) {}
};

/// Keeps its worker until it is told to go on.
struct stays {
  void stay(const std::atomic<bool>* until, std::atomic<bool>* begun) {
    *begun = true;
    while (!*until) shunt::sched::this_fiber::yield();
  }
  void other() {}
};

struct hearing {
  virtual ~hearing() = default;
  virtual void hear(int what) = 0;
};

}  // namespace

template <>
struct shunt::actor::proxy<hearing> : shunt::proxy_of<hearing> {
  using proxy_of::proxy_of;
  void hear(int what, std::source_location where = std::source_location::current()) const {
    tell<&hearing::hear>(what, where);
  }
};

TEST_CASE("errors: a call by a null ref names its line, with up to four arguments") {
  const ref<sums> none;
  expect_place<usage_error>([&] { none.tell<&sums::none>(); });
  expect_place<usage_error>([&] { none.tell<&sums::one>(1); });
  expect_place<usage_error>([&] { none.tell<&sums::two>(1, 2); });
  expect_place<usage_error>([&] { none.tell<&sums::three>(1, 2, 3); });
  expect_place<usage_error>([&] { none.tell<&sums::four>(1, 2, 3, 4); });
  expect_place<usage_error>([&] { static_cast<void>(none.ask<&sums::none>()); });
  expect_place<usage_error>([&] { static_cast<void>(none.ask<&sums::one>(1)); });
  expect_place<usage_error>([&] { static_cast<void>(none.ask<&sums::two>(1, 2)); });
  expect_place<usage_error>([&] { static_cast<void>(none.ask<&sums::three>(1, 2, 3)); });
  expect_place<usage_error>([&] { static_cast<void>(none.ask<&sums::four>(1, 2, 3, 4)); });
  expect_place<usage_error>([&] { none.tell_after<&sums::five>(1h, 1, 2, 3, 4, 5); });
  expect_place<usage_error>([&] { none.tell_every<&sums::none>(1h); });
  expect_place<usage_error>([&] { none.monitor<&sums::ended>(none); });
  const ref<hearing> no_one;
  expect_place<usage_error>([&] { no_one->hear(1); });
  const auto unnamed = [](const usage_error& thrown) {
    const std::string_view text = thrown.what();
    expect(text.ends_with(": the reference is to no actor [SHUNT-0513]"), text);
    expect(std::string_view(thrown.where().file_name()).ends_with("actor/manager.cpp"), thrown.where().file_name());
  };
  expect_thrown<usage_error>([&] { none.tell<&sums::five>(1, 2, 3, 4, 5); }, unnamed);
  expect_thrown<usage_error>([&] { static_cast<void>(none.ask<&sums::five>(1, 2, 3, 4, 5)); }, unnamed);
}

TEST_CASE("errors: a line that is a method's argument is one, and a line behind all arguments is the call's") {
  manager all(one_worker());
  const auto some = all.spawn<sums>();
  const auto here = std::source_location::current();
  CHECK(manager::await(some.ask<&sums::line>(1, here)) == 1 + static_cast<int>(here.line()));
  CHECK(manager::await(some.ask<&sums::one>(1, here)) == 1);
  CHECK(manager::await(some.ask<&sums::five>(1, 2, 3, 4, 5)) == 15);
  const ref<sums> none;
  expect_thrown<usage_error>([&] { none.tell<&sums::one>(1, here); },
                             [&](const usage_error& thrown) { expect(thrown.where().line() == here.line()); });
}

TEST_CASE("errors: spawn names the line that makes its options, and so do create, supervise and find") {
  manager all(one_worker());
  expect_place<usage_error>([&] { all.spawn<sums>({.worker = 9}); });
  expect_place<usage_error>([&] { all.spawn<sums>({.capacity = 0}); });
  const auto group = all.supervise();
  expect_place<usage_error>([&] { all.spawn<unkept>({.under = group}, std::make_unique<int>(1)); });
  expect_place<usage_error>([&] { static_cast<void>(all.supervise({.restarts = -1})); });
  expect_place<usage_error>([&] { static_cast<void>(all.create<hearing>()); });
  expect_place<usage_error>([&] { static_cast<void>(all.create<hearing>({.name = "n"})); });
  all.spawn<sums>({.name = "sums"});
  expect_place<usage_error>([&] { static_cast<void>(all.find<unkept>("sums")); });
  const actor_options before{.worker = 9};
  const auto line = std::source_location::current().line() - 1;
  expect_thrown<usage_error>([&] { all.spawn<sums>(before); },
                             [&](const usage_error& thrown) { expect(thrown.where().line() == line, thrown.what()); });
  actor_options bare;
  bare.worker = 9;
  expect_thrown<usage_error>([&] { all.spawn<sums>(bare); },
                             [](const usage_error& thrown) {
                               expect(std::string_view(thrown.what()) == "spawn: worker 9 of 0..0 [SHUNT-0503]",
                                      thrown.what());
                             });
  all.stop();
  expect_place<shunt::error>([&] { all.spawn<sums>(); });
}

TEST_CASE("errors: managers, timers, and what only a handler may call") {
  expect_place<usage_error>([] { shunt::this_actor::stop(); });
  expect_place<usage_error>([] { manager({.runtime = {.workers = -1}}); });
  expect_place<usage_error>([] { manager({.runtime = {.workers = 1}, .stack_bytes = ~std::size_t{0}}); });
  shunt::sched::runtime rt(one_worker());
  expect_place<usage_error>([&] { manager outside(rt); });
  rt.run([&] {
    manager first(rt);
    expect_place<usage_error>([&] { manager second(rt); });
  });
  manager all(one_worker());
  const auto some = all.spawn<sums>();
  expect_place<usage_error>([&] { some.tell_every<&sums::none>(0s); });
  expect_place<usage_error>([&] { all.stop(ref<sums>()); });
}

TEST_CASE("errors: a full mailbox names the line of the message, from a thread and from the actor's worker") {
  std::atomic<bool> go_on{false}, begun{false};
  manager all(one_worker());
  const auto full = all.spawn<stays>({.name = "full", .capacity = 1, .when_full = overflow::fail});
  full.tell<&stays::stay>(&go_on, &begun);
  while (!begun) std::this_thread::yield();
  expect_place<shunt::mailbox_full>([&] {
    // A ring takes what comes before the worker has looked.
    for (;;) full.tell<&stays::other>();
  });
  struct neighbour {
    int try_it(ref<stays> to) {
      expect_place<shunt::mailbox_full>([&] { to.tell<&stays::other>(); });
      expect_place<shunt::mailbox_full>([&] { static_cast<void>(to.ask<&stays::other>()); });
      return 1;
    }
  };
  const auto beside = all.spawn<neighbour>();
  CHECK(manager::await(beside.ask<&neighbour::try_it>(full)) == 1);
  go_on = true;
}

TEST_CASE("errors: a circle of actors names the line of the message that would close it") {
  manager all(one_worker());
  const auto some = all.spawn<sums>({.name = "some", .capacity = 4});
  CHECK(manager::await(some.ask<&sums::floods>(some)) == 1);
}
