/// Where something of a distributed array lives: dealt out like cards, entry i to PE i % count.
#pragma once

#include <cstdint>
#include <shunt/base/random.hpp>
#include <span>
#include <vector>

namespace shunt::apps {

struct place {
  int pe = 0;
  std::uint32_t spot = 0;  ///< index within that PE's part

  [[nodiscard]] static place of(std::uint64_t global, int pes) noexcept {
    const auto count = static_cast<std::uint64_t>(pes);
    return {static_cast<int>(global % count), static_cast<std::uint32_t>(global / count)};
  }
  [[nodiscard]] std::uint64_t global(int pes) const noexcept {
    return std::uint64_t{spot} * static_cast<std::uint64_t>(pes) + static_cast<std::uint64_t>(pe);
  }
};

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

}  // namespace shunt::apps
