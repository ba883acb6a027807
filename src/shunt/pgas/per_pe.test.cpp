#include <shunt/pgas/per_pe.hpp>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <shunt/base/random.hpp>
#include <support/jobs.hpp>

namespace pgas = shunt::pgas;
using namespace shunt::testing;

namespace {

/// The keys that a PE draws.
std::vector<std::uint64_t> keys_of(int pe, int keys) {
  const shunt::counter_random random(7, pe);
  std::vector<std::uint64_t> all(static_cast<std::size_t>(keys));
  for (std::size_t i = 0; i != all.size(); ++i) all[i] = random.at(i);
  return all;
}

/// The keys of all PEs that are a PE's, in order.
std::vector<std::uint64_t> dealt_to(int pe, int pes, int keys) {
  std::vector<std::uint64_t> mine;
  for (int p = 0; p != pes; ++p) {
    for (const auto key : keys_of(p, keys)) {
      if (key % static_cast<std::uint64_t>(pes) == static_cast<std::uint64_t>(pe)) mine.push_back(key);
    }
  }
  std::ranges::sort(mine);
  return mine;
}

std::string failure_of_two(const std::function<void(pgas::pe&)>& program) {
  return thrown_by([&] { pgas::run(small(2, 1), program); });
}

}  // namespace

TEST_CASE("per_pe: lists on each PE get what all PEs put there, for every number of PEs") {
  constexpr int keys = 500;
  for (const auto& job : all_jobs(tiny)) {
    pgas::run(job, [&](pgas::pe& me) {
      pgas::per_pe<std::vector<std::uint64_t>> lists(me);
      pgas::superstep(me, [&] {
        for (const auto key : keys_of(me.index(), keys)) {
          lists[key % static_cast<std::uint64_t>(me.count())].update(
              [key](std::vector<std::uint64_t>& there) { there.push_back(key); });
        }
      });
      std::ranges::sort(*lists);
      expect(*lists == dealt_to(me.index(), me.count(), keys));
    });
  }
}

TEST_CASE("per_pe: the operators, round after round, beside an array in one superstep") {
  pgas::run(tiny(3, 2), [](pgas::pe& me) {
    pgas::per_pe<long> sums(me, 10L * me.index());
    pgas::array<long> counts(me, 7);
    for (int round = 1; round != 4; ++round) {
      pgas::superstep(me, [&] {
        for (int pe = 0; pe != me.count(); ++pe) {
          ++sums[pe];
          sums[pe] += pe;
          sums[pe].max(-1);
          ++counts[pe];
        }
      });
      expect(*sums == 10L * me.index() + round * me.count() * (1L + me.index()));
      expect(counts.sum() == long{round} * me.count() * me.count());
      me.barrier();
    }
  });
}

TEST_CASE("per_pe: items travel along, and each PE's object is constructed with its own arguments") {
  struct log {
    std::string text;
    int owner;
    log(std::string first, int pe) : text(std::move(first)), owner(pe) {}
  };
  pgas::run(tiny(4, 2), [](pgas::pe& me) {
    pgas::per_pe<log> logs(me, "of " + std::to_string(me.index()), me.index());
    const std::vector<int> items{1, 2, 3};
    pgas::superstep(me, [&] {
      if (me.index() != 1) return;
      for (int pe = 0; pe != me.count(); ++pe) {
        logs[pe].update(std::span<const int>(items), [](log& there, std::span<const int> some) {
          for (const int item : some) there.text += ' ' + std::to_string(item);
        });
      }
    });
    expect(logs->text == "of " + std::to_string(me.index()) + " 1 2 3");
    expect(logs->owner == me.index());
  });
}

TEST_CASE("per_pe: what a superstep forbids, and a PE that is not there, name the line") {
  const auto outside = failure_of_two([](pgas::pe& me) {
    pgas::per_pe<long> sums(me);
    ++sums[0];
  });
  CHECK_THAT(outside, Catch::Contains("a distributed object is changed outside of a superstep") &&
                          Catch::Contains("per_pe.test.cpp:") && Catch::Contains("SHUNT-0945"));
  for (const long pe : {2L, -1L}) {
    const auto beyond = failure_of_two([pe](pgas::pe& me) {
      pgas::per_pe<long> sums(me);
      pgas::superstep(me, [&] { ++sums[pe]; });
    });
    CHECK_THAT(beyond, Catch::Contains("element " + std::to_string(pe) + " of 2, 0 the first (") &&
                           Catch::Contains("per_pe.test.cpp:") && Catch::Contains("SHUNT-0947"));
  }
}
