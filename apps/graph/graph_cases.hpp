/// Small graphs for tests, as lists of entries.
#pragma once

#include <cstdint>
#include <shunt/graph/generate.hpp>
#include <shunt/pgas.hpp>
#include <string>
#include <vector>

namespace shunt::testing {

struct list {
  std::string name;
  std::uint64_t vertices = 0;
  std::vector<graph::edge> edges;
};

inline list kronecker(unsigned scale, std::uint64_t factor, std::uint64_t seed) {
  const graph::rmat g({.scale = scale, .edge_factor = factor}, seed);
  return {"kronecker", g.vertices(), g.edges(0, g.entries())};
}
/// With self-loops and double entries left out.
inline list list_of(std::string name, const graph::graph& g) {
  list made{std::move(name), g.vertices(), {}};
  for (graph::vertex v = 0; v < g.vertices(); ++v) {
    for (const auto u : g.row(v)) made.edges.push_back({v, u});
  }
  return made;
}
inline list random_graph(std::uint64_t vertices, double lower_row_mean) {
  return list_of("random", graph::erdos_renyi::with_lower_row_mean(vertices, lower_row_mean, 7).whole());
}
inline list star(graph::vertex leaves) {
  list made{"star", leaves + std::uint64_t{1}, {}};
  for (graph::vertex v = 0; v < leaves; ++v) made.edges.push_back({v, leaves});
  return made;
}
inline list path(graph::vertex vertices) {
  list made{"path", vertices, {}};
  for (graph::vertex v = 1; v < vertices; ++v) made.edges.push_back({v, v - 1});
  return made;
}

/// Local. This PE's share of the entries.
inline std::vector<graph::edge> part_of(const pgas::pe& me, const list& g) {
  const auto pe = static_cast<std::size_t>(me.index()), pes = static_cast<std::size_t>(me.count());
  const auto at = [&](std::size_t part) {
    return g.edges.begin() + static_cast<std::ptrdiff_t>(g.edges.size() * part / pes);
  };
  return {at(pe), at(pe + 1)};
}

}  // namespace shunt::testing
