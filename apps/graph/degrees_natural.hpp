/// The degrees of a graph's vertices, as a natural loop.
#pragma once

#include <cstdint>
#include <span>

#include <shunt/graph/graph.hpp>
#include <shunt/pgas/array.hpp>
#include <shunt/pgas/containers/map.hpp>

namespace shunt::apps::natural {

/// Collective. Counts at each vertex the entries that end there, of which this PE has some; a self-loop ends there
/// twice.
inline void count_degrees(pgas::pe& me, std::span<const graph::edge> entries, pgas::array<std::uint64_t>& degrees) {
  pgas::superstep(me, [&] {
    for (const auto& [a, b] : entries) {
      ++degrees[a];
      ++degrees[b];
    }
  });
}

/// Collective. How many vertices have each degree.
inline void count_vertices(pgas::pe& me, pgas::array<std::uint64_t>& degrees,
                           pgas::map<std::uint64_t, std::uint64_t>& vertices) {
  pgas::superstep(me, [&] {
    for (const std::uint64_t degree : degrees.local()) ++vertices[degree];
  });
}

}  // namespace shunt::apps::natural
