/// Where searches start: by Graph500's rules, at vertices that are drawn at random, differ, and have neighbours.
#pragma once

#include <algorithm>
#include <cstdint>
#include <graph/adjacency.hpp>
#include <shunt/base/random.hpp>
#include <vector>

namespace shunt::apps {

/// Collective. The same on every PE, and for any number of PEs.
/// \return so many; all there are if these are fewer
inline std::vector<graph::vertex> draw_roots(pgas::pe& me, const adjacency& a, std::uint64_t wanted,
                                             std::uint64_t seed) {
  constexpr std::uint64_t tag = 0x726f6f74732e2e2eU;  // "roots...": no other stream of the seed
  const counter_random random(seed ^ tag);
  std::uint64_t busy = 0;
  for (std::uint32_t l = 0; l < a.count(); ++l) busy += a.degree(l) != 0;
  wanted = std::min(wanted, me.sum(busy));
  std::vector<graph::vertex> roots;
  for (std::uint64_t i = 0; roots.size() < wanted; i += 64) {
    std::uint64_t with_neighbours = 0;  // a bit for each of 64 that are drawn; of this PE's
    for (std::uint64_t k = 0; k < 64; ++k) {
      const auto at = a.at.of(static_cast<graph::vertex>(random.below(i + k, a.at.vertices())));
      const bool good = a.at.owner(at) == me.index() && a.degree(a.at.row(at)) != 0;
      with_neighbours |= std::uint64_t{good} << k;
    }
    each_bit(me.sum(with_neighbours), [&](std::uint32_t k) {
      const auto v = static_cast<graph::vertex>(random.below(i + k, a.at.vertices()));
      if (roots.size() < wanted && std::find(roots.begin(), roots.end(), v) == roots.end()) roots.push_back(v);
    });
  }
  return roots;
}

}  // namespace shunt::apps
