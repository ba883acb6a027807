// A thread's end of every line: open trains, what comes home, what is to be unloaded, and waiting for credit.
#include <shunt/rail/endpoint.hpp>

#include <algorithm>
#include <cstring>
#include <random>
#include <set>
#include <vector>

#include <catch2/catch.hpp>

namespace {

using shunt::rail::train;

struct cursor : shunt::rail::outgoing {
  std::size_t messages = 0;
};
using endpoint = shunt::rail::endpoint<cursor, 2>;

/// Notes what it is told. Waiting is what the test says.
struct noted : shunt::rail::credit {
  void wait(std::uint8_t channel, std::size_t trains, shunt::call_site call) override {
    waits.push_back(std::string(call.name()) + " " + std::to_string(channel) + " " + std::to_string(trains));
  }
  void came_home(std::size_t trains) noexcept override { home.push_back(trains); }
  std::vector<std::string> waits;
  std::vector<std::size_t> home;
};

constexpr endpoint::pool_size few{256, 2, 4, 4};

}  // namespace

TEST_CASE("endpoint: an open train departs once, and its destination is as new") {
  noted credit;
  endpoint here(nullptr, nullptr, few, 3, credit);
  REQUIRE_FALSE(here.any_open(0));
  REQUIRE(here.open(0, 2));
  here.out(0, 2).messages = 7;
  CHECK(here.any_open(0));
  CHECK_FALSE(here.any_open(1));
  train* const t = here.out(0, 2).open;
  CHECK(&here.take_open(0, 2) == t);
  CHECK_FALSE(here.any_open(0));
  CHECK(here.out(0, 2).open == nullptr);
  CHECK(here.out(0, 2).messages == 0);
  here.pool().put(*t);
}

TEST_CASE("endpoint: the pool is the credit of its owner, and waiting goes through the credit that was handed in") {
  noted credit;
  endpoint here(nullptr, nullptr, few, 3, credit);
  REQUIRE(here.open(0, 0));
  REQUIRE(here.open(0, 1));
  CHECK_FALSE(here.open(0, 2));  // two regular trains
  CHECK(here.out(0, 2).open == nullptr);
  here.wait_for_trains(0, 2, "send");
  CHECK(credit.waits == std::vector<std::string>{"send 0 2"});
  CHECK_THROWS_WITH(here.wait_for_trains(0, 5, "send"), "send: no memory for a train of 256 bytes [SHUNT-0820]");
  CHECK(credit.waits.size() == 1);
}

TEST_CASE("endpoint: trains that come home are credit, others are to be unloaded, in their order") {
  noted credit_here, credit_there;
  endpoint here(nullptr, nullptr, few, 1, credit_here), there(nullptr, nullptr, few, 1, credit_there);
  std::vector<train*> sent;
  for (int i = 0; i < 2; ++i) {
    REQUIRE(here.open(0, 0));
    train& t = here.take_open(0, 0);
    sent.push_back(&t);
    there.inbox().deliver(t);
  }
  std::vector<train*> seen;
  CHECK(there.arrivals([&](train& t) { seen.push_back(&t); }));
  CHECK(seen == sent);
  CHECK(credit_there.home.empty());
  CHECK_FALSE(there.arrivals([&](train&) { FAIL("nothing has come"); }));

  for (train* const t : seen) there.unloaded(*t);
  CHECK_FALSE(here.open(0, 0));  // not before they have been taken in
  CHECK(here.arrivals([&](train&) { FAIL("they are empty"); }));
  CHECK(credit_here.home == std::vector<std::size_t>{2});
  CHECK(here.pool().out(0) == 0);
  CHECK(here.open(0, 0));
}

TEST_CASE("endpoint: a train that its own owner unloads goes back at once") {
  noted credit;
  endpoint here(nullptr, nullptr, few, 1, credit);
  REQUIRE(here.open(1, 0, true));
  train& t = here.take_open(1, 0);
  here.unloaded(t);
  CHECK(here.pool().out(1) == 0);
  CHECK(credit.home == std::vector<std::size_t>{1});
  CHECK_FALSE(here.inbox().any());
}

TEST_CASE("endpoint: the list of open trains agrees with the destinations, whatever opens and departs") {
  constexpr std::size_t destinations = 9;
  noted credit;
  endpoint here(nullptr, nullptr, {256, destinations, 2 * destinations, 4}, destinations, credit);
  std::mt19937 dice(GENERATE(range(0u, 20u)));
  std::set<std::size_t> open;
  for (int step = 0; step < 300; ++step) {
    const std::size_t d = dice() % destinations;
    if (dice() % 20 == 0) {
      std::set<std::size_t> departed;
      const bool any = here.depart_all(0, [&](std::size_t to) {
        CHECK(departed.insert(to).second);
        here.pool().put(here.take_open(0, to));
      });
      CHECK(any == !open.empty());
      CHECK(departed == open);
      open.clear();
    } else if (open.insert(d).second) {
      REQUIRE(here.open(0, d));
    } else {
      open.erase(d);
      here.pool().put(here.take_open(0, d));
    }
    const auto& listed = here.open_destinations(0);
    REQUIRE(std::set<std::size_t>(listed.begin(), listed.end()) == open);
    for (std::size_t i = 0; i < destinations; ++i) REQUIRE((here.out(0, i).open != nullptr) == open.contains(i));
  }
}
