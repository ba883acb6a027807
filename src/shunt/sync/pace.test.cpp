// ticker and rate_limiter: what takes time is told apart from what does not by a clock that a strategy moves, or by
// times that lie far in the past or the future.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <stop_token>
#include <string>
#include <string_view>

#include <catch2/catch.hpp>
#include <shunt/sched.hpp>
#include <shunt/sync.hpp>
#include <support/expect.hpp>

namespace sched = shunt::sched;
using namespace std::chrono_literals;

namespace {

/// Fibers run in the order in which they become ready, and the run's time passes while all of them wait.
struct in_turn final : sched::strategy {
  std::size_t choose(const moment& /*now*/) noexcept override { return 0; }
  std::size_t choose_among(std::size_t /*ways*/) noexcept override { return 0; }
  void stuck(std::string_view /*fibers*/) noexcept override {}
};

}  // namespace

TEST_CASE("ticker: ticks that passed are told together, and the next one keeps its distance") {
  const auto begin = sched::now() - 10h - 30min;
  shunt::ticker hourly(1h, begin);
  CHECK(hourly.next() == 10);
  CHECK(hourly.passed() == 0);
  CHECK(hourly.due() == begin + 11h);
}

TEST_CASE("ticker: waits for a tick that is to come, as a thread and as a fiber") {
  shunt::ticker often(1ms);
  const auto first = often.due();
  CHECK(often.next() >= 1);
  CHECK(sched::now() >= first);
  std::uint64_t ticks = 0;
  sched::runtime rt({.workers = 1});
  rt.run([&] { ticks = often.next(); });
  CHECK(ticks >= 1);
}

TEST_CASE("ticker: works in a compact fiber") {
  std::uint64_t ticks = 0;
  sched::runtime rt({.workers = 1});
  rt.run([&] {
    rt.spawn(
        [&] {
          shunt::ticker often(1ms);
          ticks = often.next();
        },
        {.compact = true});
  });
  CHECK(ticks >= 1);
}

TEST_CASE("ticker: a stop ends the wait") {
  std::stop_source stop;
  std::uint64_t ticks = 1;
  sched::runtime rt({.workers = 1});
  rt.run([&] {
    rt.spawn([&] { stop.request_stop(); });
    ticks = shunt::ticker(1000h).next(stop.get_token());
  });
  CHECK(ticks == 0);
}

TEST_CASE("ticker: restart() counts from now") {
  shunt::ticker t(1h, sched::now() - 5h);
  const auto before = sched::now();
  t.restart(2h);
  CHECK(t.passed() == 0);
  CHECK(t.period() == 2h);
  CHECK(t.due() >= before + 2h);
}

TEST_CASE("ticker: a period of 0 is refused") {
  CHECK_THROWS_AS(shunt::ticker(0ns), shunt::usage_error);
  CHECK_THROWS_AS(shunt::ticker(1s).restart(-1ns), shunt::usage_error);
}

TEST_CASE("rate_limiter: a burst is free, the permit after it is not") {
  shunt::rate_limiter one(1e-6, 3);  // the bucket takes 35 days to fill
  CHECK(one.try_acquire());
  CHECK(one.try_acquire(2));
  CHECK_FALSE(one.try_acquire());
  CHECK_FALSE(one.try_acquire_for(1h));  // at once: the permit would come after the deadline
}

TEST_CASE("rate_limiter: a call that is refused takes nothing") {
  shunt::rate_limiter one(1e-6, 3);
  CHECK(one.try_acquire(2));
  CHECK_FALSE(one.try_acquire(2));
  CHECK(one.try_acquire());
}

TEST_CASE("rate_limiter: permits come at the rate") {
  constexpr int permits = 20;
  const auto begin = sched::now();
  shunt::rate_limiter one(1000, 1);
  for (int i = 0; i < permits; ++i) one.acquire();
  CHECK(sched::now() - begin >= (permits - 1) * 1ms);
}

TEST_CASE("rate_limiter: fibers that wait leave their worker to others") {
  int others = 0;
  in_turn fair;
  sched::runtime rt({.workers = 1, .strategy = &fair});
  rt.run([&] {
    const auto begin = sched::now();
    shunt::rate_limiter one(100, 1);
    one.acquire();
    rt.spawn([&] { ++others; });
    one.acquire();
    shunt::testing::expect(others == 1, "the other fiber has run");
    shunt::testing::expect(sched::now() - begin >= 10ms, "it has waited");
  });
  CHECK(others == 1);
}

TEST_CASE("rate_limiter: what cannot be is refused") {
  CHECK_THROWS_AS(shunt::rate_limiter(0), shunt::usage_error);
  CHECK_THROWS_AS(shunt::rate_limiter(-1), shunt::usage_error);
  CHECK_THROWS_AS(shunt::rate_limiter(2e9), shunt::usage_error);
  CHECK_THROWS_AS(shunt::rate_limiter(1, 0), shunt::usage_error);
  CHECK_THROWS_WITH(shunt::rate_limiter(1, 3).acquire(4),
                    Catch::Contains("rate_limiter::acquire: 4 permits, of a burst of 3"));
}
