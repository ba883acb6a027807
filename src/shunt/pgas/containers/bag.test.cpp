#include <shunt/pgas/containers/bag.hpp>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <support/expect.hpp>
#include <support/jobs.hpp>

namespace pgas = shunt::pgas;
using namespace shunt::testing;

TEST_CASE("balance: each PE has as many as the others, in the same order, on any number of PEs") {
  for (const auto& job : all_jobs(tiny)) {
    pgas::run(job, [](pgas::pe& me) {
      // PE p has p % 4 times 37 items, so some have none; they are numbered over all PEs.
      std::vector<std::uint32_t> items(static_cast<std::size_t>(me.index() % 4) * 37);
      const auto before = static_cast<std::uint32_t>(me.scan(items.size()));
      std::iota(items.begin(), items.end(), before);
      const auto all = me.sum(std::uint64_t{items.size()});
      pgas::balance(me, items);
      const auto pes = static_cast<std::uint64_t>(me.count());
      expect(items.size() == all / pes + (static_cast<std::uint64_t>(me.index()) < all % pes ? 1 : 0));
      const auto first = me.scan(items.size());
      for (std::size_t k = 0; k != items.size(); ++k) expect(items[k] == first + k);
    });
  }
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
  for (const auto& job : all_jobs(tiny)) {
    pgas::run(job, [](pgas::pe& me) {
      pgas::bag<int> items(me);
      pgas::superstep(me, [&] {
        for (int i = 0; i != 3 * me.count(); ++i) items.insert(i);
      });
      expect(items.local().size() == 3 * static_cast<std::size_t>(me.count()));
      if (me.index() == 0) items.add(1);
      expect(items.size() == 3 * static_cast<std::uint64_t>(me.count()) * static_cast<std::uint64_t>(me.count()) + 1);
    });
  }
}

TEST_CASE("bag: drain() works on what its work inserts, until nothing is left anywhere") {
  for (const int pes : {1, 2, 7, 64}) {
    pgas::run(small(pes, 2), [](pgas::pe& me) {
      pgas::bag<int> work(me);
      if (me.index() == me.count() - 1) work.add(10);  // each n > 0 becomes two of n - 1: 2^10 leaves
      std::uint64_t leaves = 0;
      work.drain([&](const int& n) {
        if (n == 0) {
          ++leaves;
        } else {
          work.insert(n - 1);
          work.insert(n - 1);
        }
      });
      expect(me.sum(leaves) == 1024);
      expect(me.count() == 1 || me.max(leaves) <= 1024 / static_cast<unsigned>(me.count()) + 1);
      expect(work.size() == 0);
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
