#include <shunt/graph/graph.hpp>

#include <algorithm>
#include <catch2/catch.hpp>
#include <numeric>
#include <set>
#include <shunt/base/error.hpp>
#include <shunt/base/random.hpp>
#include <string>
#include <utility>
#include <vector>

#include <shunt/graph/generate.hpp>

using namespace shunt::graph;
using Catch::Contains;

namespace {

std::vector<edge> random_edges(std::uint64_t vertices, std::uint64_t entries, std::uint64_t seed) {
  const shunt::counter_random numbers(seed);
  std::vector<edge> out;
  for (std::uint64_t i = 0; i < entries; ++i) {
    out.push_back(
        {static_cast<vertex>(numbers.below(2 * i, vertices)), static_cast<vertex>(numbers.below(2 * i + 1, vertices))});
  }
  return out;
}

std::vector<std::vector<bool>> matrix_of(const graph& g) {
  std::vector<std::vector<bool>> m(g.vertices(), std::vector<bool>(g.vertices()));
  for (vertex v = 0; v < g.vertices(); ++v) {
    for (const vertex u : g.row(v)) m[v][u] = m[u][v] = true;
  }
  return m;
}

std::uint64_t triangles_by_triple_loop(const graph& g) {
  const auto m = matrix_of(g);
  std::uint64_t found = 0;
  for (std::size_t i = 0; i < m.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      for (std::size_t k = 0; k < j; ++k) found += m[i][j] && m[j][k] && m[i][k] ? 1 : 0;
    }
  }
  return found;
}

std::uint64_t wedges_by_listing(const graph& g) {
  std::uint64_t found = 0;
  for (vertex v = 0; v < g.vertices(); ++v) {
    const auto row = g.row(v);
    for (std::size_t j = 0; j < row.size(); ++j) {
      for (std::size_t k = 0; k < j; ++k) ++found;
    }
  }
  return found;
}

std::size_t longest_row(const graph& g) {
  std::size_t longest = 0;
  for (vertex v = 0; v < g.vertices(); ++v) longest = std::max(longest, g.row(v).size());
  return longest;
}

graph complete(vertex n) { return erdos_renyi(n, 1, 0).whole(); }

}  // namespace

TEST_CASE("graph: the picture in the header is true") {
  const std::vector<edge> edges = {{1, 0}, {2, 0}, {2, 1}, {4, 2}};
  const graph g = graph::from_edges(5, edges);
  CHECK(g.vertices() == 5);
  CHECK(g.edges() == 4);
  CHECK(std::vector<vertex>(g.columns().begin(), g.columns().end()) == std::vector<vertex>{0, 0, 1, 2});
  CHECK(std::vector<std::uint64_t>(g.offsets().begin(), g.offsets().end()) ==
        std::vector<std::uint64_t>{0, 0, 1, 3, 3, 4});
  CHECK(g.row(3).empty());
  CHECK(degrees(g) == std::vector<vertex>{2, 2, 3, 0, 1});
  CHECK(wedges(g) == 1);
  CHECK(count_triangles_serial(g) == 1);
}

TEST_CASE("graph: a graph without vertices, and one without edges, are graphs") {
  const graph none;
  CHECK(none.vertices() == 0);
  CHECK(none.edges() == 0);
  CHECK(none.offsets().size() == 1);
  CHECK(graph::from_edges(0, {}) == none);
  CHECK(by_degree(none) == none);
  CHECK(count_triangles_serial(none) == 0);
  const graph empty = graph::from_edges(3, {});
  CHECK(empty.vertices() == 3);
  CHECK(empty.edges() == 0);
  CHECK(by_degree(empty) == empty);
  CHECK(wedges(empty) == 0);
}

TEST_CASE("graph: of any list of edges, each edge is kept once and the rest is counted") {
  const auto [vertices, entries] =
      GENERATE(table<std::uint64_t, std::uint64_t>({{1, 5}, {2, 9}, {7, 30}, {40, 2000}, {500, 700}}));
  const auto edges = random_edges(vertices, entries, 11);
  const graph g = graph::from_edges(vertices, edges);

  std::set<std::pair<vertex, vertex>> expected;
  std::uint64_t loops = 0;
  for (const edge& e : edges) {
    if (e.a == e.b) {
      ++loops;
    } else {
      expected.insert({std::max(e.a, e.b), std::min(e.a, e.b)});
    }
  }
  std::vector<std::pair<vertex, vertex>> found;
  for (vertex v = 0; v < g.vertices(); ++v) {
    for (const vertex u : g.row(v)) found.emplace_back(v, u);
  }
  CHECK(found == std::vector<std::pair<vertex, vertex>>(expected.begin(), expected.end()));
  CHECK(g.cleaned() == dropped{loops, entries - loops - expected.size()});
}

TEST_CASE("graph: neither order nor direction of the edges matters") {
  auto edges = random_edges(50, 300, 3);
  const graph g = graph::from_edges(50, edges);
  std::reverse(edges.begin(), edges.end());
  for (edge& e : edges) std::swap(e.a, e.b);
  CHECK(graph::from_edges(50, edges) == g);
}

TEST_CASE("graph: an edge to a vertex that is not there, or too many vertices, is an error") {
  const std::vector<edge> edges = {{0, 1}, {3, 1}};
  CHECK_THROWS_AS(graph::from_edges(3, edges), shunt::usage_error);
  CHECK_THROWS_WITH(graph::from_edges(3, edges), "graph: edge 3-1 in a graph of 3 vertices [SHUNT-1015]");
  CHECK_THROWS_WITH(graph::from_edges(max_vertices + 1, {}),
                    "graph: 4294967296 vertices, at most 4294967295 fit [SHUNT-1008]");
}

TEST_CASE("graph: rows that were made elsewhere are adopted as they are") {
  const graph g = graph::from_edges(50, random_edges(50, 300, 3));
  row_block rows;
  rows.offsets.assign(g.offsets().begin(), g.offsets().end());
  rows.columns.assign(g.columns().begin(), g.columns().end());
  CHECK(graph::from_rows(rows) == g);
}

TEST_CASE("graph: the serial count is that of the triple loop") {
  const std::uint64_t seed = GENERATE(range(std::uint64_t{1}, std::uint64_t{13}));
  const auto edges = random_edges(60, seed * 60, 100 + seed);
  const graph g = graph::from_edges(60, edges);
  CHECK(count_triangles_serial(g) == triangles_by_triple_loop(g));
  CHECK(wedges(g) == wedges_by_listing(g));
}

TEST_CASE("graph: a complete graph has a triangle for each three vertices, and as many wedges") {
  const vertex n = GENERATE(1U, 2U, 3U, 4U, 5U, 64U, 101U);
  const std::uint64_t threes = std::uint64_t{n} * (n - 1) * (n - std::min(n, 2U)) / 6;
  CHECK(count_triangles_serial(complete(n)) == threes);
  CHECK(wedges(complete(n)) == threes);
}

TEST_CASE("graph: under any numbers a graph keeps its triangles, and back it is the same") {
  const graph g = rmat({.scale = 8, .edge_factor = 6}, 5).whole();
  std::vector<vertex> there(g.vertices());
  std::iota(there.begin(), there.end(), vertex{0});
  const shunt::counter_random numbers(77);
  for (std::size_t i = there.size(); i > 1; --i) {
    std::swap(there[i - 1], there[numbers.below(i, i)]);
  }
  std::vector<vertex> back(there.size());
  for (vertex v = 0; v < back.size(); ++v) back[there[v]] = v;

  const graph other = relabel(g, there);
  CHECK_FALSE(other == g);
  CHECK(count_triangles_serial(other) == count_triangles_serial(g));
  CHECK(relabel(other, back) == g);
}

TEST_CASE("graph: under any numbers a graph tells what was left out of its original") {
  const std::vector<edge> entries{{0, 1}, {1, 0}, {2, 2}, {1, 2}, {0, 0}, {2, 2}};
  const graph g = graph::from_edges(3, entries);
  REQUIRE(g.cleaned() == dropped{3, 1});
  CHECK(by_degree(g).cleaned() == dropped{3, 1});
  CHECK(relabel(by_degree(g), std::vector<vertex>{2, 0, 1}).cleaned() == dropped{3, 1});
}

TEST_CASE("graph: new numbers that are no permutation are an error") {
  const graph g = complete(3);
  CHECK_THROWS_AS(relabel(g, std::vector<vertex>{0, 1}), shunt::usage_error);
  CHECK_THROWS_WITH(relabel(g, std::vector<vertex>{0, 1}), "graph: 2 new numbers for 3 vertices [SHUNT-1016]");
  CHECK_THROWS_WITH(relabel(g, std::vector<vertex>{0, 1, 1}),
                    "graph: new number 1 is given twice, expected each of 0..2 once [SHUNT-1016]");
  CHECK_THROWS_WITH(relabel(g, std::vector<vertex>{0, 1, 3}),
                    "graph: new number 3 is out of range, expected each of 0..2 once [SHUNT-1016]");
}

TEST_CASE("graph: numbered by degree, degrees fall and equals keep their order") {
  const graph g = graph::from_edges(60, random_edges(60, 200, 9));
  const auto degree = degrees(g);
  const auto number = degree_order(g);
  std::vector<vertex> by_number(g.vertices());
  for (vertex v = 0; v < g.vertices(); ++v) by_number[number[v]] = v;
  for (std::size_t i = 1; i < by_number.size(); ++i) {
    const vertex before = by_number[i - 1];
    const vertex after = by_number[i];
    CHECK((degree[before] > degree[after] || (degree[before] == degree[after] && before < after)));
  }
}

TEST_CASE("graph: numbered by degree, no row is longer than sqrt(2 edges) and wedges are fewer") {
  const auto scramble = GENERATE(true, false);
  const auto seed = GENERATE(1U, 2U, 3U);
  const graph g = rmat({.scale = 11, .edge_factor = 8, .scramble = scramble}, seed).whole();
  const graph sorted = by_degree(g);
  const std::uint64_t longest = longest_row(sorted);
  CHECK(longest * longest <= 2 * g.edges());
  CHECK(wedges(sorted) < wedges(g));
  CHECK(count_triangles_serial(sorted) == count_triangles_serial(g));
  CHECK(std::ranges::max(degrees(g)) == degrees(sorted).front());
  if (scramble) CHECK(wedges(sorted) * 3 < wedges(g));  // hubs lie anywhere: then it pays most

  // The other orientation, hubs last, is the worst of the three.
  auto rising = degree_order(g);
  for (vertex& v : rising) v = g.vertices() - 1 - v;
  CHECK(wedges(relabel(g, rising)) > wedges(g));
}

TEST_CASE("graph: a hub with the highest number has all wedges, and none once it is relabelled") {
  std::vector<edge> star;
  for (vertex u = 0; u < 100; ++u) star.push_back({100, u});
  const graph g = graph::from_edges(101, star);
  CHECK(wedges(g) == 100 * 99 / 2);
  CHECK(wedges(by_degree(g)) == 0);
}
