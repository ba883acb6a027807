/// Where searches start: by Graph500's rules, at vertices that are drawn at random, differ, and have neighbours.
#pragma once

#include <algorithm>
#include <cstdint>
#include <graph/adjacency.hpp>
#include <shunt/base/random.hpp>
#include <vector>

namespace shunt::apps {

/// Collective. The same on every PE, and for any number of PEs.
/// \param wanted  so many; all there are if these are fewer
/// \param mine    mine(v): whether v is this PE's, and has neighbours
/// \param sum     collective, of all PEs: sum(n)
template <class Mine, class Sum>
std::vector<graph::vertex> draw_roots(std::uint64_t vertices, std::uint64_t wanted, std::uint64_t seed, Mine mine,
                                      Sum sum) {
  constexpr std::uint64_t tag = 0x726f6f74732e2e2eU;  // "roots...": no other stream of the seed
  const counter_random random(seed ^ tag);
  std::vector<graph::vertex> roots;
  for (std::uint64_t i = 0; roots.size() < wanted; i += 64) {
    std::uint64_t with_neighbours = 0;  // a bit for each of 64 that are drawn
    const auto candidate = [&](std::uint64_t k) { return static_cast<graph::vertex>(random.below(i + k, vertices)); };
    for (std::uint64_t k = 0; k < 64; ++k) with_neighbours |= std::uint64_t{mine(candidate(k))} << k;
    each_bit(sum(with_neighbours), [&](std::uint32_t k) {
      const auto v = candidate(k);
      if (roots.size() < wanted && std::find(roots.begin(), roots.end(), v) == roots.end()) roots.push_back(v);
    });
  }
  return roots;
}

/// Collective. The same for a graph that is dealt out.
template <class Graph>
std::vector<graph::vertex> draw_roots(pgas::pe& me, const Graph& a, std::uint64_t wanted, std::uint64_t seed) {
  std::uint64_t with_neighbours = 0;
  for (std::uint32_t l = 0; l < a.count(); ++l) with_neighbours += a.degree(l) != 0;
  const auto mine = [&](graph::vertex v) {
    const auto at = a.at.of(v);
    return a.at.owner(at) == me.index() && a.degree(a.at.row(at)) != 0;
  };
  return draw_roots(a.at.vertices(), std::min(wanted, me.sum(with_neighbours)), seed, mine,
                    [&me](std::uint64_t n) { return me.sum(n); });
}

}  // namespace shunt::apps
