#include <shunt/pgas/containers/disjoint_sets.hpp>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>
#include <shunt/base/random.hpp>
#include <support/expect.hpp>
#include <support/jobs.hpp>

namespace pgas = shunt::pgas;
using namespace shunt::testing;

namespace {

using edge = std::pair<std::uint64_t, std::uint64_t>;

/// The least element of each element's set, serially.
std::vector<std::uint64_t> labels_of(std::uint64_t size, const std::vector<edge>& edges) {
  std::vector<std::uint64_t> to(size);
  std::iota(to.begin(), to.end(), std::uint64_t{0});
  const auto root = [&](std::uint64_t a) {
    while (to[a] != a) a = to[a];
    return a;
  };
  for (const auto& [a, b] : edges) {
    const auto one = root(a), other = root(b);
    to[std::max(one, other)] = std::min(one, other);
  }
  for (std::uint64_t a = 0; a != size; ++a) to[a] = root(a);
  return to;
}

void expect_sets(const pgas::options& job, std::uint64_t size, const std::vector<edge>& edges) {
  const auto labels = labels_of(size, edges);
  std::uint64_t sets = 0;
  for (std::uint64_t a = 0; a != size; ++a) sets += labels[a] == a ? 1 : 0;
  pgas::run(job, [&](pgas::pe& me) {
    pgas::disjoint_sets found(me, size);
    expect(found.count() == size);
    // In two supersteps; each PE has every so many of them.
    for (std::size_t half = 0; half != 2; ++half) {
      pgas::superstep(me, [&] {
        for (auto k = static_cast<std::size_t>(me.index()); k < edges.size();
             k += static_cast<std::size_t>(me.count())) {
          if (k % 2 == half) found.unite(edges[k].first, edges[k].second);
        }
      });
      if (half == 0) found.flatten();
    }
    expect(found.count() == sets);
    found.flatten();
    for (const auto& [element, label] : found.own()) expect(label == labels[element], std::to_string(element));
    expect(found.count() == sets);
  });
}

}  // namespace

TEST_CASE("disjoint_sets: random unions make the sets that serial ones make, on any number of PEs") {
  for (const auto& job : all_jobs(small)) {
    std::vector<edge> edges;
    const shunt::counter_random random(11);
    for (std::uint64_t i = 0; i != 350; ++i) edges.emplace_back(random.below(2 * i, 500), random.below(2 * i + 1, 500));
    expect_sets(job, 500, edges);
  }
}

TEST_CASE("disjoint_sets: paths, rings and stars, in any order of their numbers") {
  constexpr std::uint64_t size = 400;
  for (const auto& job : {small(1, 1), small(3, 2), small(7, 2, 2)}) {
    std::vector<edge> path, backwards, ring, star, scattered;
    for (std::uint64_t a = 1; a != size; ++a) {
      path.emplace_back(a - 1, a);
      backwards.emplace_back(size - a, size - a - 1);
      star.emplace_back(size - 1, a - 1);
      scattered.emplace_back((a - 1) * 149 % size, a * 149 % size);
    }
    ring = path;
    ring.emplace_back(size - 1, 0);
    for (const auto& edges : {path, backwards, ring, star, scattered}) expect_sets(job, size, edges);
    expect_sets(job, size, {{3, 3}, {5, 9}, {9, 5}});
    expect_sets(job, 0, {});
  }
}

TEST_CASE("disjoint_sets: labels are read while faster PEs unite more") {
  for (const auto& job : {small(2, 1), small(3, 2), small(7, 2, 2)}) {
    pgas::run(job, [](pgas::pe& me) {
      constexpr std::uint64_t size = 1024;
      pgas::disjoint_sets sets(me, size);
      for (std::uint64_t step = 1; step != size; step *= 2) {
        pgas::superstep(me, [&] {
          for (std::uint64_t a = 0; a + step < size; a += 2 * step) sets.unite(a + step, a);
        });
        sets.flatten();
        for (const auto& [element, label] : sets.own()) expect(label == element / (2 * step) * (2 * step));
      }
    });
  }
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
