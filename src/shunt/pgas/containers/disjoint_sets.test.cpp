#include <shunt/pgas/containers/disjoint_sets.hpp>

#include <functional>

#include <catch2/catch.hpp>
#include <support/expect.hpp>
#include <support/jobs.hpp>
#include <support/linked_properties.hpp>

namespace pgas = shunt::pgas;
using namespace shunt::testing;

TEST_CASE("disjoint_sets: random unions make the sets that serial ones make, on any number of PEs") {
  const auto property = random_unions();
  for (const auto& job : all_jobs(small)) pgas::run(job, std::ref(property));
}

TEST_CASE("disjoint_sets: paths, rings and stars, in any order of their numbers") {
  for (const auto& property : shaped_unions()) {
    for (const auto& job : {small(1, 1), small(3, 2), small(7, 2, 2)}) pgas::run(job, std::ref(property));
  }
}

TEST_CASE("disjoint_sets: labels are read while faster PEs unite more") {
  for (const auto& job : {small(2, 1), small(3, 2), small(7, 2, 2)}) pgas::run(job, unites_by_and_by);
}

TEST_CASE("disjoint_sets: what a superstep forbids, and what is beyond the last element, names the line") {
  using Catch::Contains;
  const auto failure_of = [](const std::function<void(pgas::pe&, pgas::disjoint_sets&)>& program) {
    return thrown_by([&] {
      pgas::run(small(2, 1), [&](pgas::pe& me) {
        pgas::disjoint_sets sets(me, 10);
        program(me, sets);
      });
    });
  };
  CHECK_THAT(failure_of([](pgas::pe&, pgas::disjoint_sets& sets) { sets.unite(1, 2); }),
             Contains("outside of a superstep") && Contains("disjoint_sets.test.cpp"));
  CHECK_THAT(
      failure_of([](pgas::pe& me, pgas::disjoint_sets& sets) { pgas::superstep(me, [&] { sets.unite(10, 2); }); }),
      Contains("element 10 of 10, 0 the first") && Contains("disjoint_sets.test.cpp"));
  CHECK_THAT(failure_of([](pgas::pe& me, pgas::disjoint_sets& sets) { pgas::superstep(me, [&] { sets.flatten(); }); }),
             Contains("flatten() in a superstep"));
}
