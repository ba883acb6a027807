/// Where something of a distributed array lives: dealt out like cards, entry i to PE i % count.
#pragma once

#include <cstdint>
#include <shunt/base/random.hpp>
#include <span>
#include <vector>

namespace shunt::apps {

/// A number of a row, a column or a spot, from 0.
using ordinal = std::uint32_t;

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

/// The same deal for numbers below 2^32, as one PE sees it. A multiplication finds the PE, instead of a division.
class dealt {
 public:
  dealt(int pe, int pes) noexcept
      : pe_(static_cast<std::uint32_t>(pe)),
        pes_(static_cast<std::uint32_t>(pes)),
        reciprocal_(((std::uint64_t{1} << 63) - 1) / pes_ + 1) {}

  [[nodiscard]] place where(std::uint32_t global) const noexcept {
    // Exact: the reciprocal is too great by less than 1, which adds less than 2^-31 to the quotient.
    __extension__ using wide = unsigned __int128;
    const auto spot = static_cast<std::uint32_t>((static_cast<wide>(reciprocal_) * global) >> 63);
    return {static_cast<int>(global - spot * pes_), spot};
  }
  /// What stands at a spot of this PE.
  [[nodiscard]] std::uint32_t global(std::uint32_t spot) const noexcept { return spot * pes_ + pe_; }
  /// How many of 0..total-1 this PE has.
  [[nodiscard]] std::uint32_t count(std::uint64_t total) const noexcept {
    return static_cast<std::uint32_t>((total + pes_ - 1 - pe_) / pes_);
  }

 private:
  std::uint32_t pe_;
  std::uint32_t pes_;
  std::uint64_t reciprocal_;
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
