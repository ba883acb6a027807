#include <catch2/catch.hpp>
#include <functional>
#include <shunt/stm/detail/policy/hill_climber.hpp>

using shunt::stm::detail::hill_climber;

namespace {

/// A program: its commits a second depend on the number of workers on which it is allowed.
struct program {
  int workers;
  std::function<double(int active)> rate;
  hill_climber c{};
  bool may_try = true;
  int trials = 0;

  [[nodiscard]] int active() const { return c.allowed() == 0 ? workers : c.allowed(); }
  void tick() {
    const bool before = c.on_trial();
    c.tick(rate(active()), workers, [this] { return may_try; });
    if (!before && c.on_trial()) ++trials;
  }
  void ticks(int n) {
    while (n-- > 0) tick();
  }
  /// \return the number of ticks it took.
  int until_next_trial() {
    int n = 0;
    for (const int before = trials; trials == before; ++n) {
      if (n == 5000) return n;
      tick();
    }
    return n;
  }
};

}  // namespace

TEST_CASE("hill_climber: one worker is found where two are slower, and is left for trials only") {
  program p{2, [](int active) { return active == 1 ? 100e6 : 25e6; }};
  p.ticks(10);
  REQUIRE(p.active() == 1);
  int on_two = 0;
  for (int i = 0; i < 10'000; ++i) {
    p.tick();
    if (p.active() != 1) ++on_two;
  }
  CHECK(p.trials > 5);
  CHECK(on_two <= 2 * p.trials);
  CHECK(p.trials < 30);
}

TEST_CASE("hill_climber: of many workers the best number is found, from above and from below") {
  const int best = GENERATE(1, 2, 4, 8);
  program p{8, [best](int active) { return 10e6 / (active > best ? active / best : best / active); }};
  p.ticks(200);
  CHECK(p.active() == best);
  p.rate = [](int active) { return 1e6 / active; };
  p.ticks(2000);
  CHECK(p.active() == 1);
  p.rate = [](int active) { return 1e6 * active; };
  p.ticks(2000);
  CHECK(p.active() == 8);
}

TEST_CASE("hill_climber: the time between trials that gain nothing grows") {
  program p{2, [](int) { return 10e6; }};
  p.until_next_trial();
  int before = 0;
  for (int i = 0; i < 10; ++i) {
    const int now = p.until_next_trial();
    CHECK(now >= before);
    CHECK(p.active() == 1);  // the number of the trial
    before = now;
  }
  CHECK(before > 500);
  CHECK(before < 1010);
}

TEST_CASE("hill_climber: the next trial comes soon where a third of the throughput has gone, and not where less has") {
  double rate = 10e6;
  program p{2, [&rate](int) { return rate; }};
  for (int i = 0; i < 10; ++i) p.until_next_trial();
  rate = GENERATE(7e6, 6e6);
  const int next = p.until_next_trial();
  if (rate == 7e6) {
    CHECK(next > 500);
  } else {
    CHECK(next < 20);
  }
  for (int i = 0; i < 10; ++i) p.until_next_trial();
  CHECK(p.until_next_trial() > 500);  // the change is over
}

TEST_CASE("hill_climber: it tries nothing while it may not, where next to nothing commits, or with one worker") {
  program p{2, [](int) { return 10e6; }};
  p.may_try = false;
  p.ticks(100);
  CHECK(p.trials == 0);
  p.may_try = true;
  p.tick();
  CHECK(p.trials == 1);

  program slow{2, [](int) { return hill_climber::least_rate / 2; }};
  slow.ticks(100);
  CHECK(slow.trials == 0);
  program single{1, [](int) { return 10e6; }};
  single.ticks(100);
  CHECK(single.trials == 0);
}

TEST_CASE("hill_climber: the old number comes back if nothing runs during a trial") {
  program p{2, [](int active) { return active == 1 ? 100e6 : 25e6; }};
  const int ticks = GENERATE(0, 1);  // it warms up, or measures
  p.until_next_trial();
  REQUIRE(p.active() == 1);
  p.ticks(ticks);
  p.c.nothing_ran();
  CHECK(p.active() == 2);
  CHECK_FALSE(p.c.on_trial());
  p.ticks(10);
  CHECK(p.active() == 1);
}
