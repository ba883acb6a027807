#include <shunt/transport/network/stuck_time.hpp>

#include <catch2/catch.hpp>

namespace {

using namespace std::chrono_literals;
using shunt::transport::network::stuck_time;

const stuck_time::clock::time_point origin(1000h);

TEST_CASE("stuck_time: what two threads wait at once counts once") {
  stuck_time all;
  CHECK(all.add(origin, origin + 100ms, 200ms) == 100ms);
  CHECK(all.add(origin + 50ms, origin + 150ms, 200ms) == 150ms);
  CHECK(all.add(origin + 60ms, origin + 150ms, 200ms) == 150ms);
  CHECK(all.add(origin + 300ms, origin + 340ms, 200ms) == 340ms);
  CHECK(all.add(origin + 700ms, origin + 800ms, 200ms) == 540ms);
}

TEST_CASE("stuck_time: a wait in which the process was stopped counts as one; an open gate begins anew") {
  stuck_time all;
  CHECK(all.add(origin, origin + 1h, 200ms) == 200ms);
  all.clear();
  CHECK(all.add(origin + 1h, origin + 1h + 100ms, 200ms) == 100ms);
}

}  // namespace
