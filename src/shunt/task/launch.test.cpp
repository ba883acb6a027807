#include <shunt/task/launch.hpp>

#include <stdexcept>

#include <catch2/catch.hpp>
#include <shunt/task.hpp>

TEST_CASE("launch: returns what the root returns, 0 for nothing") {
  CHECK(shunt::launch([] { return 7; }) == 7);
  CHECK(shunt::launch([] {}) == 0);
}

TEST_CASE("launch: waits for the fibers that the root made") {
  bool ran = false;
  CHECK(shunt::launch([&] { shunt::async([&] { ran = true; }); }, {.workers = 1}) == 0);
  CHECK(ran);
}

TEST_CASE("launch: an exception of any fiber becomes a status") {
  CHECK(shunt::launch([] { throw std::runtime_error("launch.test: thrown by the root"); }) == 1);
  CHECK(shunt::launch([] { shunt::async([] { throw 3; }); }) == 1);
  CHECK(shunt::launch([]() -> int { throw shunt::usage_error("launch.test: thrown by the root"); }) == 2);
}

TEST_CASE("launch: a runtime that cannot be made is a usage error") {
  CHECK(shunt::launch([] {}, {.workers = -1}) == 2);
}
