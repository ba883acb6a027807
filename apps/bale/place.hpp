/// Where something of a distributed array lives, and random places in one.
#pragma once

#include <cstdint>
#include <shunt/base/random.hpp>
#include <shunt/graph/deal.hpp>
#include <span>
#include <vector>

namespace shunt::apps {

/// A number of a row, a column or a spot, from 0.
using ordinal = std::uint32_t;

using graph::dealt;
using graph::place;

/// Accesses first, first + pes, ... of a stream of `total` random ones to entries 0..entries-1. The stream depends on
/// the seed only: whatever the number of PEs, they make the same accesses together.
[[nodiscard]] inline std::vector<place> random_places(std::uint64_t total, std::uint64_t entries, std::uint64_t seed,
                                                      int pe, int pes) {
  const counter_random random(seed);
  std::vector<place> places;
  places.reserve(total / static_cast<std::uint64_t>(pes) + 1);
  for (auto i = static_cast<std::uint64_t>(pe); i < total; i += static_cast<std::uint64_t>(pes)) {
    places.push_back(place::of(random.below(i, entries), pes));
  }
  return places;
}

/// The same places as indices of a pgas::array, whose elements lie like that.
[[nodiscard]] inline std::vector<std::uint64_t> indices_of(std::span<const place> places, int pes) {
  std::vector<std::uint64_t> indices;
  indices.reserve(places.size());
  for (const auto& p : places) indices.push_back(p.global(pes));
  return indices;
}

}  // namespace shunt::apps
