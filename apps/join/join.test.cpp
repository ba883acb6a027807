// A hash join: its pairs against a loop over all pairs.
#include <support/jobs.hpp>

#include <catch2/catch.hpp>
#include <shunt/base/random.hpp>
#include <vector>

#include "join/join.hpp"

using namespace shunt;
using namespace shunt::testing;

namespace {

std::vector<apps::row> rows(std::uint64_t table, std::uint64_t count, std::uint64_t keys) {
  const counter_random random(4, table);
  std::vector<apps::row> all;
  for (std::uint64_t i = 0; i != count; ++i) all.push_back({random.below(2 * i, keys), random.at(2 * i + 1)});
  return all;
}

/// Every so many of them.
std::vector<apps::row> part(const std::vector<apps::row>& all, const pgas::pe& me) {
  std::vector<apps::row> mine;
  for (auto i = static_cast<std::size_t>(me.index()); i < all.size(); i += static_cast<std::size_t>(me.count())) {
    mine.push_back(all[i]);
  }
  return mine;
}

}  // namespace

TEST_CASE("join: all pairs of equal keys, and no other, on any number of PEs") {
  struct shape {
    std::uint64_t first, second, keys;
  };
  for (const auto& [first_rows, second_rows, keys] : {shape{200, 300, 90}, {50, 50, 1}, {0, 20, 5}, {20, 0, 5}}) {
    const auto first = rows(1, first_rows, keys), second = rows(2, second_rows, keys);
    std::uint64_t pairs = 0, sum = 0;
    for (const auto& a : first) {
      for (const auto& b : second) {
        if (a.key != b.key) continue;
        ++pairs;
        sum += apps::pair_sum(a.key, a.value, b.value);
      }
    }
    for (const auto& job : all_jobs(tiny)) {
      pgas::run(job, [&](pgas::pe& me) {
        pgas::map<std::uint64_t, apps::joined> by_key(me);
        std::uint64_t told = 0;
        apps::join(me, part(first, me), part(second, me), by_key, [&](std::uint64_t sent) { told = sent; });
        std::uint64_t my_pairs = 0, my_sum = 0;
        for (const auto& [key, j] : by_key.local()) {
          my_pairs += j.pairs;
          my_sum += j.sum;
        }
        expect(me.sum(my_pairs) == pairs);
        expect(me.sum(my_sum) == sum);
        expect(me.sum(told) == first.size() + second.size());
      });
    }
  }
}
