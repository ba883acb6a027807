#include <shunt/pgas/containers/bag.hpp>

#include <cstdint>
#include <stdexcept>
#include <vector>

#include <catch2/catch.hpp>
#include <support/expect.hpp>
#include <support/item_properties.hpp>
#include <support/jobs.hpp>

namespace pgas = shunt::pgas;
using namespace shunt::testing;

TEST_CASE("balance: each PE has as many as the others, in the same order, on any number of PEs") {
  for (const auto& job : all_jobs(tiny)) pgas::run(job, balances);
}

TEST_CASE("balance: items that are aligned to more than a payload, and items of a PE that has them all") {
  struct alignas(16) wide {
    std::uint64_t value;
  };
  pgas::run(tiny(5, 2), [](pgas::pe& me) {
    std::vector<wide> items;
    if (me.index() == 3) {
      for (std::uint64_t i = 0; i != 22; ++i) items.push_back({i});
    }
    pgas::balance(me, items);
    expect(items.size() == (me.index() < 2 ? 5U : 4U));
    const auto first = me.scan(items.size());
    for (std::size_t k = 0; k != items.size(); ++k) expect(items[k].value == first + k);
  });
}

TEST_CASE("bag: inserted items are spread over all PEs") {
  for (const auto& job : all_jobs(tiny)) pgas::run(job, bag_spreads);
}

TEST_CASE("bag: drain() works on what its work inserts, until nothing is left anywhere") {
  for (const int pes : {1, 2, 7, 64}) pgas::run(small(pes, 2), bag_drains);
}

TEST_CASE("bag: in a superstep local() has the items from before it") {
  for (const auto& job : {tiny(1, 1), tiny(3, 2), tiny(7, 2, 2)}) {
    pgas::run(job, [](pgas::pe& me) {
      pgas::bag<int> items(me);
      items.add(me.index());
      pgas::superstep(me, [&] {
        for (int i = 0; i != 200; ++i) {
          items.insert(i);
          expect(items.local() == std::vector<int>{me.index()});
        }
      });
      expect(items.size() == 201 * static_cast<std::uint64_t>(me.count()));
    });
  }
}

TEST_CASE("bag: an item is inserted in a superstep; what drain() throws ends the job") {
  using Catch::Contains;
  CHECK_THAT(thrown_by([] {
               pgas::run(small(2, 1), [](pgas::pe& me) {
                 pgas::bag<int> items(me);
                 items.insert(1);
               });
             }),
             Contains("outside of a superstep") && Contains("bag.test.cpp"));
  CHECK_THAT(thrown_by([] {
               pgas::run(small(2, 1), [](pgas::pe& me) {
                 pgas::bag<int> items(me);
                 items.add(1);
                 items.drain([](const int&) { throw std::runtime_error("mine"); });
               });
             }),
             Contains("mine"));
}
