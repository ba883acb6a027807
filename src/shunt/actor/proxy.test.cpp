// Interfaces, what a manager makes for them, and calls that look like calls.
#include <shunt/actor.hpp>

#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <support/expect.hpp>
#include <thread>
#include <vector>

using Catch::Matchers::Contains;
using shunt::manager;
using shunt::testing::thrown_by;

namespace {

struct player {
  virtual ~player() = default;
  virtual void hit(shunt::ref<player> me, shunt::ref<player> from, long ball) = 0;
  virtual long hits() = 0;
  virtual std::string greet(std::string whom, std::unique_ptr<int> gift) = 0;
};

}  // namespace

template <>
struct shunt::actor::proxy<player> : shunt::proxy_of<player> {
  using proxy_of::proxy_of;
  void hit(shunt::ref<player> me, shunt::ref<player> from, long ball) const { tell<&player::hit>(me, from, ball); }
  [[nodiscard]] shunt::future<long> hits() const { return ask<&player::hits>(); }
  [[nodiscard]] shunt::future<std::string> greet(std::string whom, std::unique_ptr<int> gift) const {
    return ask<&player::greet>(std::move(whom), std::move(gift));
  }
};

namespace {

/// Before the interface in the object, so that the address of the one is not that of the other.
struct something {
  virtual ~something() = default;
  long before = 7;
};

struct amateur : something, player {
  explicit amateur(std::string of = "none") : club(std::move(of)) {}
  void hit(shunt::ref<player> me, shunt::ref<player> from, long ball) override {
    ++count;
    if (ball > 1) from->hit(from, me, ball - 1);
  }
  long hits() override { return count; }
  std::string greet(std::string whom, std::unique_ptr<int> gift) override {
    return whom + " gave " + std::to_string(*gift) + " to " + club;
  }
  std::string club;
  long count = 0;
};

struct professional final : amateur {
  void hit(shunt::ref<player>, shunt::ref<player>, long) override { count += 100; }
};

}  // namespace

TEST_CASE("proxy: actors behind an interface call each other by name, on one worker and on two") {
  const int workers = GENERATE(1, 2);
  manager all(shunt::sched::options{.workers = workers});
  all.implement<player, amateur>();
  const auto a = all.create<player>(), b = all.create<player>();
  a->hit(a, b, 1'000);
  all.drain();
  CHECK(manager::await(a->hits()) == 500);
  CHECK(manager::await(b->hits()) == 500);
}

TEST_CASE("proxy: arguments are copied for each actor that is made, and moved into calls") {
  manager all(shunt::sched::options{.workers = 1});
  all.implement<player, amateur>(std::string("the club"));
  for (int i = 0; i < 3; ++i) {
    const auto one = all.create<player>({.name = "n" + std::to_string(i)});
    CHECK(manager::await(one->greet("Ada", std::make_unique<int>(i))) ==
          "Ada gave " + std::to_string(i) + " to the club");
  }
  CHECK(all.actors() == 3);
}

TEST_CASE("create: another implementation counts from then on, and actors that were made stay") {
  manager all(shunt::sched::options{.workers = 1});
  all.implement<player, amateur>();
  const auto first = all.create<player>();
  all.implement<player, professional>();
  const auto second = all.create<player>();
  first->hit(first, second, 1);
  second->hit(second, first, 1);
  all.drain();
  CHECK(manager::await(first->hits()) == 1);
  CHECK(manager::await(second->hits()) == 100);
}

TEST_CASE("create: an interface without an implementation is named") {
  manager all(shunt::sched::options{.workers = 1});
  const auto what = thrown_by<shunt::usage_error>([&] { static_cast<void>(all.create<player>()); });
  CHECK_THAT(what,
             Contains("create: no class is known for the interface") && Contains("player") && Contains("implement<"));
}

TEST_CASE("create: any thread, while others say what to make") {
  manager all(shunt::sched::options{.workers = 2});
  all.implement<player, amateur>();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) {
        if (i % 10 == 0) all.implement<player, amateur>();
        const auto one = all.create<player>();
        one->hit(one, one, 1);
      }
    });
  }
  for (auto& t : threads) t.join();
  all.drain();
  CHECK(all.actors() == 200);
}

TEST_CASE("proxy: a null ref is refused where it is called") {
  const shunt::ref<player> none;
  CHECK_THAT(thrown_by<shunt::usage_error>([&] { none->hit(none, none, 1); }),
             Contains("the reference is to no actor"));
}
