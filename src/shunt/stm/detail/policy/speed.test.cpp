#include <catch2/catch.hpp>
#include <shunt/stm/detail/policy/speed.hpp>

using shunt::stm::detail::speed;
using namespace std::chrono_literals;

TEST_CASE(
    "speed: workers that take turns, one half as fast again, are told apart, and use their time up in proportion") {
  speed p;
  double slow = 0;
  double fast = 0;
  CHECK(p.compare(400, 40us) == 1);  // nobody to compare with
  for (int turn = 0; turn < 200; ++turn) {
    for (int look = 0; look < 50; ++look) slow = p.compare(400, 40us);
    for (int look = 0; look < 50; ++look) fast = p.compare(600, 40us);
  }
  CHECK(slow < 0.85);
  CHECK(fast > 1.15);
  CHECK(fast / slow == Approx(1.5).epsilon(0.1));
}

TEST_CASE("speed: a worker alone is as fast as all, also after it has become slower") {
  speed p;
  double last = 0;
  for (int look = 0; look < 20'000; ++look) last = p.compare(100, 10us);
  CHECK(last == Approx(1));
  for (int look = 0; look < 20'000; ++look) last = p.compare(50, 10us);
  CHECK(last == Approx(1).epsilon(0.01));
}

TEST_CASE("speed: what differs by more than cores do counts as the most that they do") {
  speed p;
  p.compare(1000, 10us);
  CHECK(p.compare(1, 10us) == speed::least);
  CHECK(p.compare(100'000, 10us) == speed::most);
}
