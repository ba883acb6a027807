#include <shunt/actor/typed.hpp>

#include <catch2/catch.hpp>

namespace {
struct counter {
  int add(int by) { return sum += by; }
  int sum = 0;
};
}  // namespace

TEST_CASE("typed: what an actor is told comes before what it is asked afterwards") {
  shunt::manager all(shunt::sched::options{.workers = 2});
  auto co = all.spawn<counter>({.name = "co"});
  co.tell<&counter::add>(3);
  CHECK(all.await(co.ask<&counter::add>(4)) == 7);
  CHECK(all.find<counter>("co") == co);
}
