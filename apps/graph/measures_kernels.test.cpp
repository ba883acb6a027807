// Components, PageRank, shortest paths and similarity against serial oracles: one answer, whatever the number of PEs.
#include <support/jobs.hpp>

#include <cmath>
#include <vector>

#include <catch2/catch.hpp>
#include <shunt/graph/generate.hpp>

#include "graph/components_lambda.hpp"
#include "graph/graph_cases.hpp"
#include "graph/jaccard_lambda.hpp"
#include "graph/kcore_lambda.hpp"
#include "graph/pagerank_lambda.hpp"
#include "graph/paths_check_lambda.hpp"
#include "graph/serial.hpp"
#include "graph/sssp_lambda.hpp"

using namespace shunt;
using namespace shunt::testing;

namespace {

/// A path whose numbers have no order.
list shuffled_path(graph::vertex vertices) {
  auto g = path(vertices);
  for (auto& [a, b] : g.edges) a = a * 37 % vertices, b = b * 37 % vertices;
  g.name = "shuffled path";
  return g;
}

/// Collective. Vertices instead of addresses.
template <class Graph>
std::vector<graph::vertex> as_vertices(const pgas::pe& me, const Graph& g, const std::vector<apps::address>& of) {
  std::vector<graph::vertex> made;
  for (const auto one : of) made.push_back(one == apps::nowhere ? apps::no_vertex : g.at.vertex(one, me.count()));
  return made;
}

/// Local. The number of this PE's first entry.
std::uint64_t first_of(const pgas::pe& me, const list& g) {
  return g.edges.size() * static_cast<std::size_t>(me.index()) / static_cast<std::size_t>(me.count());
}

/// What is wrong with distances and parents that are given whole, of entries with these weights' seed.
apps::path_faults faults_of(const list& g, const std::vector<graph::vertex>& parents,
                            const std::vector<float>& distances) {
  apps::path_faults found;
  pgas::run(tiny(2, 2), [&](pgas::pe& me) {
    std::vector<graph::vertex> my_parents;
    std::vector<float> my_distances;
    for (auto v = static_cast<std::size_t>(me.index()); v < parents.size(); v += 2) {
      my_parents.push_back(parents[v]);
      my_distances.push_back(distances[v]);
    }
    const auto faults =
        apps::lambda_form::check_paths(me, static_cast<std::uint32_t>(g.vertices), first_of(me, g), part_of(me, g),
                                       apps::entry_weights(3), my_parents, my_distances, 0);
    if (me.index() == 0) found = faults;
  });
  return found;
}

}  // namespace

TEST_CASE("components: the least vertex of each, on any number of PEs") {
  const auto g = GENERATE(kronecker(8, 4, 1), random_graph(500, 0.6), random_graph(400, 0), star(300),
                          shuffled_path(200), path(130));
  const int pes = GENERATE(1, 2, 3, 7, 64);
  const int hops = GENERATE(1, 2);
  CAPTURE(g.name, pes, hops);
  const auto right = apps::serial::components(g.vertices, g.edges);
  pgas::run(small(pes, 2, hops), [&](pgas::pe& me) {
    const auto a = graph::distribute(me, g.vertices, part_of(me, g));
    std::uint64_t rounds = 0;
    const auto found = apps::lambda_form::components(me, a, [&rounds] { ++rounds; });
    for (std::uint32_t l = 0; l < a.count(); ++l) expect(found[l] == right[a.at.vertex_of_row(l)]);
    expect(rounds < 20);  // a path of 200 vertices takes 200 where only neighbours are told
  });
}

TEST_CASE("kcore: the numbers that peeling finds, in as many rounds on any number of PEs") {
  const auto g = GENERATE(kronecker(8, 8, 1), random_graph(500, 3), random_graph(400, 0), star(300), shuffled_path(200),
                          list{"loops and doubles", 5, {{0, 1}, {1, 0}, {1, 2}, {2, 0}, {3, 3}, {3, 2}}});
  const int hops = GENERATE(1, 2);
  CAPTURE(g.name, hops);
  const auto right = apps::serial::core_numbers(g.vertices, g.edges);
  std::uint64_t rounds_of_one = 0;
  for (const int pes : {1, 2, 3, 7, 64}) {
    CAPTURE(pes);
    pgas::run(small(pes, 2, hops), [&](pgas::pe& me) {
      auto a = graph::distribute(me, g.vertices, part_of(me, g));
      a.simplify();
      std::uint64_t rounds = 0;
      auto found = apps::lambda_form::kcore(me, a, [&rounds](std::uint64_t) { ++rounds; });
      for (std::uint32_t l = 0; l < a.count(); ++l) expect(found[l] == right[a.at.vertex_of_row(l)]);
      if (me.index() == 0) expect(std::exchange(rounds_of_one, rounds) == rounds || pes == 1);
      expect(apps::lambda_form::check_cores(me, a, found) == 0);
      if (me.index() == 0) ++found[0];  // vertex 0
      expect(apps::lambda_form::check_cores(me, a, found) != 0);
    });
  }
}

TEST_CASE("core_numbers: peeling finds what the definition says") {
  // A clique of four, a triangle that shares a vertex with it, a tail, and a vertex alone.
  const std::vector<graph::edge> edges = {{0, 1}, {0, 2}, {0, 3}, {1, 2}, {1, 3},
                                          {2, 3}, {3, 4}, {3, 5}, {4, 5}, {5, 6}};
  CHECK(apps::serial::core_numbers(8, edges) == std::vector<std::uint32_t>{3, 3, 3, 3, 2, 2, 1, 0});
}

TEST_CASE("pagerank: ranks of a serial loop, to the last bit the same on any number of PEs") {
  const auto g = GENERATE(kronecker(8, 4, 1), random_graph(500, 1), star(300), path(120));
  CAPTURE(g.name);
  constexpr std::uint64_t rounds = 20;
  const auto right = apps::serial::page_ranks(g.vertices, g.edges, 0.85, rounds);
  std::vector<apps::share_of_one> first(g.vertices);
  for (const int pes : {1, 2, 3, 7, 64}) {
    for (const int hops : {1, 2}) {
      CAPTURE(pes, hops);
      pgas::run(small(pes, 2, hops), [&](pgas::pe& me) {
        auto a = graph::distribute(me, g.vertices, part_of(me, g));
        a.simplify();
        const auto found = apps::lambda_form::pagerank(me, a, 85, 0, rounds, [](std::uint64_t) {});
        apps::share_of_one sum = 0;
        for (std::uint32_t l = 0; l < a.count(); ++l) {
          const auto v = a.at.vertex_of_row(l);
          const double rank = static_cast<double>(found.now[l]) / static_cast<double>(apps::one_rank);
          expect(std::abs(rank - right[v]) < 1e-12);
          if (pes == 1 && hops == 1) first[v] = found.now[l];
          expect(found.now[l] == first[v]);
          sum += found.now[l];
        }
        sum = me.sum(sum);
        expect(sum <= apps::one_rank && apps::one_rank - sum < g.vertices);
      });
    }
  }
}

TEST_CASE("sssp: distances are Dijkstra's to the last bit, on any number of PEs, for any delta") {
  const auto g = GENERATE(kronecker(8, 8, 1), random_graph(400, 1.2), star(300), path(120));
  const int pes = GENERATE(1, 2, 3, 7, 64);
  const float delta = GENERATE(0.01F, 0.125F, 4.F);
  CAPTURE(g.name, pes, delta);
  const apps::entry_weights weights(11);
  const auto root = static_cast<graph::vertex>(g.vertices / 3);
  const auto right =
      apps::serial::distances(g.vertices, g.edges, [&weights](std::uint64_t i) { return weights[i]; }, root);
  pgas::run(small(pes, 2), [&](pgas::pe& me) {
    const auto mine = part_of(me, g);
    const auto first = first_of(me, g);
    const auto a = apps::lambda_form::distribute(me, g.vertices, first, mine, weights);
    const auto found = apps::lambda_form::sssp(me, a, a.at.of(root), delta, [] {});
    std::uint64_t traversed = 0;
    for (std::uint32_t l = 0; l < a.count(); ++l) {
      expect(found.distance[l] == right[a.at.vertex_of_row(l)]);
      if (found.distance[l] != apps::unreachable) traversed += a.degree(l);
    }
    const auto faults = apps::lambda_form::check_paths(me, static_cast<std::uint32_t>(g.vertices), first, mine, weights,
                                                       as_vertices(me, a, found.parent), found.distance, root);
    expect(faults.none());
    expect(2 * faults.traversed == me.sum(traversed));
  });
}

TEST_CASE("check_paths: finds each rule broken") {
  const list g{"square", 5, {{0, 1}, {1, 2}, {2, 3}, {3, 0}}};
  const apps::entry_weights weights(3);
  const auto far = apps::unreachable;
  constexpr auto none = apps::no_vertex;
  const float to_1 = weights[0], by_1 = to_1 + weights[1], to_3 = weights[3], by_3 = to_3 + weights[2];
  const bool over_1 = by_1 < by_3;
  const float to_2 = std::min(by_1, by_3);
  REQUIRE(to_1 < by_3 + weights[1]);
  REQUIRE(to_3 < by_1 + weights[2]);
  const graph::vertex parent = over_1 ? 1 : 3;
  CHECK(faults_of(g, {0, 0, parent, 0, none}, {0, to_1, to_2, to_3, far}).none());
  CHECK(faults_of(g, {0, 0, parent, 0, none}, {0, to_1, to_2, to_3, far}).traversed == 4);
  CHECK(faults_of(g, {0, 0, parent, 0, none}, {1, to_1, to_2, to_3, far}).rule_1 == 1);  // the root is somewhere
  CHECK(faults_of(g, {0, 2, 1, 0, none}, {0, to_1, to_2, to_3, far}).rule_1 == 2);       // a circle
  CHECK(faults_of(g, {0, 0, parent, 0, none}, {0, to_1, 9, to_3, far}).rule_2 == 2);     // there are shorter ways
  CHECK(faults_of(g, {0, 0, none, 0, none}, {0, to_1, far, to_3, far}).rule_3 != 0);     // 2 was left out
  CHECK(faults_of(g, {0, 0, parent, 0, none}, {0, to_1, 0, to_3, far}).rule_4 == 1);     // too short
  CHECK(faults_of(g, {0, 0, 0, 0, none}, {0, to_1, to_2, to_3, far}).rule_4 == 1);       // 0-2 is no entry
}

TEST_CASE("jaccard: neighbours in common, and of either end, as a serial loop counts them") {
  const auto g = GENERATE(graph::erdos_renyi::with_lower_row_mean(200, 6, 1).whole(),
                          graph::rmat({.scale = 7, .edge_factor = 8}, 2).whole(),
                          graph::by_degree(graph::rmat({.scale = 7, .edge_factor = 8}, 3).whole()), graph::graph(),
                          graph::graph::from_edges(3, std::vector<graph::edge>{{0, 1}, {1, 2}, {2, 0}}));
  const int pes = GENERATE(1, 2, 3, 7, 64);
  const int hops = GENERATE(1, 2);
  CAPTURE(g.vertices(), pes, hops);
  const auto common = apps::serial::common_neighbours(g);
  const auto degree = graph::degrees(g);
  pgas::run(small(pes, 2, hops), [&](pgas::pe& me) {
    pgas::symmetric<apps::rows> lower(me, apps::deal(g, me.index(), me.count()));
    const auto found = apps::lambda_form::jaccard(me, lower, [](std::uint32_t) {});
    expect(me.sum(found.asked) == graph::wedges(g));
    for (std::uint32_t l = 0; l < lower->count(); ++l) {
      const auto v = l * static_cast<graph::vertex>(me.count()) + static_cast<graph::vertex>(me.index());
      for (std::size_t i = 0; i < g.row(v).size(); ++i) {
        const auto edge = lower->offsets[l] + i;
        const auto right = common[g.offsets()[v] + i];
        const auto either = degree[v] + degree[g.row(v)[i]] - right;
        expect(found.common[edge] == right);
        expect(found.similarity(l, edge) == (std::uint64_t{right} << 32) / either);
      }
    }
  });
}
