/// The serial oracles of the applications of graphs. They share nothing with the programs that they check.
#pragma once

#include <cstdint>
#include <functional>
#include <shunt/graph/graph.hpp>
#include <span>
#include <vector>

namespace shunt::apps::serial {

/// Of each vertex the least of its component: union and find.
[[nodiscard]] std::vector<graph::vertex> components(std::uint64_t vertices, std::span<const graph::edge> entries);

/// Of each vertex the distance from `root`, by Dijkstra's algorithm; infinity where there is no path.
/// \param weight  of entry i
[[nodiscard]] std::vector<float> distances(std::uint64_t vertices, std::span<const graph::edge> entries,
                                           const std::function<float(std::uint64_t)>& weight, graph::vertex root);

/// Of each vertex its PageRank, in floating point, after so many rounds; double entries and self-loops do not count.
[[nodiscard]] std::vector<double> page_ranks(std::uint64_t vertices, std::span<const graph::edge> entries,
                                             double damping, std::uint64_t rounds);

/// Of each vertex the core number, by peeling: of what is left, a vertex with the fewest neighbours goes next.
/// Source: Batagelj, Zaversnik: An O(m) algorithm for cores decomposition of networks. 2003, arXiv:cs/0310049.
[[nodiscard]] std::vector<std::uint32_t> core_numbers(std::uint64_t vertices, std::span<const graph::edge> entries);

/// The neighbours that the ends of each edge have in common, row after row of `g`, by merging their lists.
[[nodiscard]] std::vector<std::uint32_t> common_neighbours(const graph::graph& g);

}  // namespace shunt::apps::serial
