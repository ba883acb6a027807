// Breadth-first search against a serial one, and its validator against trees that break each rule.
#include <support/jobs.hpp>

#include <deque>
#include <set>
#include <vector>

#include <catch2/catch.hpp>
#include <shunt/graph/generate.hpp>

#include "graph/bfs_lambda.hpp"
#include "graph/graph_cases.hpp"
#include "graph/roots.hpp"
#include "graph/teps.hpp"
#include "graph/tree_check_lambda.hpp"

using namespace shunt;
using namespace shunt::testing;

namespace {

/// The oracle: a queue.
std::vector<std::uint32_t> serial_levels(const list& g, graph::vertex root) {
  std::vector<std::vector<graph::vertex>> neighbours(g.vertices);
  for (const auto [a, b] : g.edges) {
    neighbours[a].push_back(b);
    neighbours[b].push_back(a);
  }
  std::vector<std::uint32_t> levels(g.vertices, apps::no_level);
  levels[root] = 0;
  for (std::deque<graph::vertex> queue{root}; !queue.empty(); queue.pop_front()) {
    for (const auto v : neighbours[queue.front()]) {
      if (levels[v] != apps::no_level) continue;
      levels[v] = levels[queue.front()] + 1;
      queue.push_back(v);
    }
  }
  return levels;
}

/// Collective. This PE's part of the tree that a search from `root` finds.
std::vector<graph::vertex> tree_of(pgas::pe& me, pgas::symmetric<apps::adjacency>& a, apps::lambda_form::bfs& search,
                                   graph::vertex root) {
  static_cast<void>(search(a->at.of(root)));
  std::vector<graph::vertex> tree;
  for (const auto parent : search.parents()) {
    tree.push_back(parent == apps::nowhere ? apps::no_vertex : a->at.vertex(parent, me.count()));
  }
  return tree;
}

void expect_levels(pgas::pe& me, const list& g, const std::vector<graph::vertex>& roots) {
  const auto mine = part_of(me, g);
  pgas::symmetric<apps::adjacency> a(me, graph::distribute(me, g.vertices, mine));
  apps::lambda_form::bfs search(me, a);
  for (const auto root : roots) {
    const auto right = serial_levels(g, root);
    const auto parents = tree_of(me, a, search, root);
    pgas::symmetric<apps::tree_levels> tree(me, parents);
    apps::lambda_form::count_levels(me, static_cast<std::uint32_t>(g.vertices), tree, root);
    for (std::uint32_t l = 0; l < parents.size(); ++l) expect(tree->levels[l] == right[a->at.vertex_of_row(l)]);
    const auto faults = apps::lambda_form::check_tree(me, static_cast<std::uint32_t>(g.vertices), mine, parents, root);
    expect(faults.none());
    std::uint64_t traversed = 0;
    for (const auto [x, y] : g.edges) traversed += x != y && right[x] != apps::no_level;
    expect(faults.traversed == traversed);
  }
}

/// Faults of a tree that is given whole.
apps::tree_faults faults_of(const list& g, const std::vector<graph::vertex>& parents, graph::vertex root) {
  apps::tree_faults found;
  pgas::run(tiny(3, 2), [&](pgas::pe& me) {
    std::vector<graph::vertex> mine;
    for (std::size_t v = static_cast<std::size_t>(me.index()); v < parents.size(); v += 3) mine.push_back(parents[v]);
    const auto faults = apps::lambda_form::check_tree(me, static_cast<std::uint32_t>(g.vertices), part_of(me, g),
                                                      std::move(mine), root);
    if (me.index() == 0) found = faults;
  });
  return found;
}

}  // namespace

TEST_CASE("bfs: levels are those of a serial search, on any number of PEs") {
  const auto g = GENERATE(kronecker(8, 16, 1), kronecker(10, 2, 2), random_graph(500, 1.2), star(300), path(120));
  const int pes = GENERATE(1, 2, 3, 7, 64);
  const int workers = GENERATE(1, 3);
  const int hops = GENERATE(1, 2);
  CAPTURE(g.name, pes, workers, hops);
  pgas::run(small(pes, workers, hops),
            [&](pgas::pe& me) { expect_levels(me, g, {0, 5, static_cast<graph::vertex>(g.vertices - 1)}); });
}

TEST_CASE("bfs: a graph without edges, and fewer vertices than PEs") {
  pgas::run(tiny(7, 2), [](pgas::pe& me) {
    expect_levels(me, {"no edges", 5, {}}, {0, 4});
    expect_levels(me, {"loops", 3, {{1, 1}, {2, 2}, {0, 1}, {1, 0}}}, {0, 1, 2});
  });
}

TEST_CASE("draw_roots: differ, have neighbours, and do not depend on the number of PEs") {
  const auto g = random_graph(300, 0.5);
  std::set<graph::vertex> with_neighbours;
  for (const auto [a, b] : g.edges) with_neighbours.insert({a, b});
  std::vector<graph::vertex> first;
  for (const int pes : {1, 2, 7}) {
    pgas::run(tiny(pes, 2), [&](pgas::pe& me) {
      const auto a = graph::distribute(me, g.vertices, part_of(me, g));
      const auto roots = apps::draw_roots(me, a, 64, 5);
      const auto all = apps::draw_roots(me, a, 1000, 5);
      expect(std::set(all.begin(), all.end()) == with_neighbours);
      expect(roots.size() == 64 && std::equal(roots.begin(), roots.end(), all.begin()));
      if (me.index() != 0) return;
      if (first.empty()) first = roots;
      expect(first == roots);
    });
  }
}

TEST_CASE("check_tree: finds each rule broken") {
  // 0-1-2-3 and 0-3, and 4-5 apart
  const list g{"square", 6, {{0, 1}, {1, 2}, {2, 3}, {3, 0}, {4, 5}, {1, 2}, {2, 2}}};
  constexpr auto none = apps::no_vertex;
  const auto right = faults_of(g, {0, 0, 1, 0, none, none}, 0);
  CHECK(right.none());
  CHECK(right.traversed == 5);
  CHECK(faults_of(g, {0, 0, 3, 0, none, none}, 0).none());
  CHECK(faults_of(g, {1, 0, 1, 0, none, none}, 0).rule_1 != 0);     // the root has another parent
  CHECK(faults_of(g, {none, 0, 1, 0, none, none}, 0).rule_1 != 0);  // or none
  CHECK(faults_of(g, {0, 2, 1, 0, none, none}, 0).rule_1 == 2);     // 1 and 2 are each other's parents
  CHECK(faults_of(g, {0, 0, 1, 3, none, none}, 0).rule_1 == 1);     // 3 is its own
  CHECK(faults_of(g, {0, 0, 17, 0, none, none}, 0).rule_1 == 2);    // no vertex: the parent, and no level
  CHECK(faults_of(g, {0, 0, 1, 2, none, none}, 0).rule_3 == 1);     // 3 is three levels below 0, not one
  CHECK(faults_of(g, {0, 0, none, 0, none, none}, 0).rule_4 == 3);  // 2 was left out
  CHECK(faults_of(g, {0, 0, 0, 0, none, none}, 0).rule_5 == 1);     // 0-2 is no edge
  CHECK(faults_of(g, {0, 0, 1, 0, 0, none}, 0).rule_5 == 1);        // nor is 0-4
  CHECK(faults_of(g, {0, 0, 1, 0, none, none}, 0).rule_5 == 0);
}

TEST_CASE("harmonic: mean and standard error of rates") {
  const auto two = apps::harmonic::of({1, 3});
  CHECK(two.mean == Approx(1.5));
  // 1/1 and 1/3 differ from their mean 2/3 by 1/3 each.
  CHECK(two.standard_error == Approx(std::sqrt(2. / 9) * 1.5 * 1.5));
  CHECK(apps::harmonic::of({4}).standard_error == 0);
  const auto five = apps::quartiles::of({5, 1, 2, 4, 3});
  CHECK(five.least == 1);
  CHECK(five.first == 2);
  CHECK(five.median == 3);
  CHECK(five.most == 5);
  CHECK(apps::quartiles::of({1, 2}).median == 1.5);
}
