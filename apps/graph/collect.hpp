/// What the applications of graphs do with what each PE has found: all of it on PE 0, and as numbers of vertices.
#pragma once

#include <bale/matrix.hpp>
#include <graph/adjacency.hpp>
#include <graph/tree_check_lambda.hpp>
#include <span>
#include <utility>
#include <vector>

namespace shunt::apps {

/// Collective. \param mine  a value of each of this PE's vertices
/// \return on PE 0 the values of all vertices, by number; elsewhere nothing
template <class T>
std::vector<T> collect_values(pgas::pe& me, std::uint64_t vertices, const std::vector<T>& mine) {
  pgas::symmetric<std::vector<T>> all(me, me.index() == 0 ? vertices : 0);
  pgas::actor_of collector(all);
  in_pieces(std::span<const T>(mine), most_items(me, sizeof(T)), [&](std::uint32_t at, std::span<const T> piece) {
    collector.send(0, piece, [at = std::uint64_t{at}](std::vector<T>& whole, std::span<const T> values, auto& here) {
      place to{here.from(), static_cast<std::uint32_t>(at)};
      for (const auto value : values) whole[to.global(here.count())] = value, ++to.spot;
    });
  });
  collector.finish();
  return std::move(*all);
}

/// Local. Of this PE's vertices the parents, as vertices.
inline std::vector<graph::vertex> as_vertices(const pgas::pe& me, const addresses& at,
                                              const std::vector<address>& parents) {
  std::vector<graph::vertex> tree;
  tree.reserve(parents.size());
  for (const auto parent : parents) tree.push_back(parent == nowhere ? no_vertex : at.vertex(parent, me.count()));
  return tree;
}

}  // namespace shunt::apps
