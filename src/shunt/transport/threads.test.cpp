#include <shunt/transport/detail/threads.hpp>

#include <catch2/catch.hpp>

#include <shunt/base/error.hpp>
#include <support/expect.hpp>

namespace {

using namespace shunt;
using shunt::testing::expect_thrown;

TEST_CASE("threads: a job of one rank passes through every state, and may sleep for ever") {
  const auto c = transport::detail::open_threads();
  CHECK(c->name() == "threads");
  CHECK(c->rank() == 0);
  CHECK(c->ranks() == 1);
  CHECK(c->ranks_here() == 1);
  CHECK(c->exchange("mine") == std::vector<std::string>{"mine"});
  c->start({.capacity = 1024});
  rail::train_list arrived;
  CHECK_FALSE(c->poll(arrived));
  CHECK(arrived.empty());
  CHECK_FALSE(c->beat());
  CHECK(c->patience() == std::chrono::nanoseconds::max());
  c->stop();
  CHECK(c->exchange("") == std::vector<std::string>{""});
}

TEST_CASE("threads: sending a train to another rank throws an error that names the rank") {
  const auto c = transport::detail::open_threads();
  c->start({.capacity = 1024});
  rail::train t;
  expect_thrown<error>([&] { c->send(t, 3); },
                       [](const error& e) {
                         CHECK(e.known().rank == 3);
                         CHECK_THAT(e.what(), Catch::Contains("rank 3"));
                       });
  c->stop();
}

}  // namespace
