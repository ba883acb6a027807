#include <catch2/catch.hpp>
#include <shunt/stm/detail/policy/speed.hpp>

using shunt::stm::detail::speed;
using namespace std::chrono_literals;

TEST_CASE("speed: of workers that take turns the faster one is found to be faster, in proportion") {
  speed p;
  double slow = 0;
  double fast = 0;
  CHECK(p.compare(400, 40us) == 1);  // there is no other measure yet
  for (int turn = 0; turn < 200; ++turn) {
    for (int look = 0; look < 50; ++look) slow = p.compare(400, 40us);
    for (int look = 0; look < 50; ++look) fast = p.compare(600, 40us);
  }
  CHECK(slow < 0.85);
  CHECK(fast > 1.15);
  CHECK(fast / slow == Approx(1.5).epsilon(0.1));
}

TEST_CASE("speed: the only worker is as fast as all, also after it has become slower") {
  speed p;
  double last = 0;
  for (int look = 0; look < 20'000; ++look) last = p.compare(100, 10us);
  CHECK(last == Approx(1));
  for (int look = 0; look < 20'000; ++look) last = p.compare(50, 10us);
  CHECK(last == Approx(1).epsilon(0.01));
}

TEST_CASE("speed: a difference larger than that of cores counts as the largest difference of cores") {
  speed p;
  p.compare(1000, 10us);
  CHECK(p.compare(1, 10us) == speed::least);
  CHECK(p.compare(100'000, 10us) == speed::most);
}
