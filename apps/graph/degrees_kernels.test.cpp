// Degrees: the natural loop against a serial one.
#include <support/jobs.hpp>

#include <catch2/catch.hpp>
#include <map>
#include <shunt/base/random.hpp>
#include <vector>

#include "graph/degrees_natural.hpp"

using namespace shunt;
using namespace shunt::testing;

TEST_CASE("degrees: of each vertex, and how many have each, on any number of PEs") {
  constexpr std::uint64_t vertices = 120;
  const counter_random random(6);
  std::vector<graph::edge> edges;
  std::vector<std::uint64_t> serial(vertices);
  for (std::uint64_t i = 0; i != 400; ++i) {
    const auto a = static_cast<graph::vertex>(random.below(2 * i, 1 + random.below(i + 5'000, vertices)));
    const auto b = static_cast<graph::vertex>(random.below(2 * i + 1, vertices));
    edges.push_back({a, b});
    ++serial[a];
    ++serial[b];
  }
  std::map<std::uint64_t, std::uint64_t> distribution;
  for (const auto degree : serial) ++distribution[degree];
  for (const auto& job : all_jobs(tiny)) {
    pgas::run(job, [&](pgas::pe& me) {
      std::vector<graph::edge> mine;
      for (auto i = static_cast<std::size_t>(me.index()); i < edges.size(); i += static_cast<std::size_t>(me.count())) {
        mine.push_back(edges[i]);
      }
      pgas::array<std::uint64_t> degrees(me, vertices);
      pgas::map<std::uint64_t, std::uint64_t> counts(me);
      apps::natural::count_degrees(me, mine, degrees);
      apps::natural::count_vertices(me, degrees, counts);
      for (const auto& [v, degree] : degrees.own()) expect(degree == serial[v], std::to_string(v));
      for (const auto& [degree, count] : counts.local()) expect(distribution.at(degree) == count);
      expect(counts.size() == distribution.size());
    });
  }
}
