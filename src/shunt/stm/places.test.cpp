// Errors name the line of the program's call.
#include <catch2/catch.hpp>
#include <cstdint>
#include <limits>
#include <shunt/stm.hpp>
#include <string>
#include <support/expect.hpp>

using shunt::tx;
using shunt::usage_error;
using shunt::testing::expect_place;
using shunt::testing::thrown_by;
namespace stm = shunt::stm;

TEST_CASE("errors: structures that cannot be, and policies, name the call's line") {
  expect_place<usage_error>([] { shunt::tbqueue<int> none(0); });
  expect_place<usage_error>([] { stm::set_policies({.workers = -1}); });
  shunt::tsem all(std::numeric_limits<std::uint64_t>::max());
  expect_place<usage_error>([&] { all.release(); });
  shunt::atomically([&](tx& t) { expect_place<usage_error>([&] { all.release(t); }); });
}

TEST_CASE("errors: what a transaction must not call names the call's line") {
  shunt::tchan<int> items;
  shunt::atomically([&](tx&) {
    expect_place<usage_error>([] { stm::tx_quiesce(); });
    expect_place<usage_error>([&] { shunt::tchan<int>::reader one(items); });
  });
}

TEST_CASE("errors: a retry that nothing would end names the transaction's line, or its class") {
  const auto line = std::to_string(__LINE__ + 1);
  const auto said = thrown_by<shunt::error>([] { shunt::atomically([](tx& t) { t.retry(); }); });
  CHECK_THAT(said, Catch::Contains("so nothing would end its wait (places.test.cpp:" + line + ") [SHUNT-0705]"));
  static shunt::transaction_class hopeless("hopeless");
  CHECK_THAT(thrown_by<shunt::error>([] { shunt::atomically(hopeless, [](tx& t) { t.retry(); }); }),
             Catch::Contains("so nothing would end its wait (hopeless) [SHUNT-0705]"));
}
