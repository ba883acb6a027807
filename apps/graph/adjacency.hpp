/// The graph that the applications search, of module graph, and a bit for each of many.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <shunt/graph/adjacency.hpp>
#include <shunt/graph/pieces.hpp>
#include <shunt/pgas.hpp>
#include <span>
#include <vector>

#include "bale/place.hpp"

namespace shunt::apps {

using graph::address;
using graph::addresses;
using graph::adjacency;
using graph::nowhere;

/// A bit for each of 0..size-1.
class bitmap {
 public:
  explicit bitmap(std::uint64_t size) : words_((size + 63) / 64) {}
  [[nodiscard]] bool has(std::uint64_t i) const noexcept { return (words_[i / 64] >> (i % 64) & 1) != 0; }
  void set(std::uint64_t i) noexcept { words_[i / 64] |= std::uint64_t{1} << (i % 64); }
  /// \return whether it was clear
  bool add(std::uint64_t i) noexcept {
    auto& word = words_[i / 64];
    const auto bit = std::uint64_t{1} << (i % 64);
    const bool fresh = (word & bit) == 0;
    word |= bit;
    return fresh;
  }
  void clear() noexcept { std::fill(words_.begin(), words_.end(), 0); }
  [[nodiscard]] std::span<std::uint64_t> words() noexcept { return words_; }
  [[nodiscard]] std::span<const std::uint64_t> words() const noexcept { return words_; }

 private:
  std::vector<std::uint64_t> words_;
};

/// Calls f(i) for each bit of a word, the lowest first.
template <class F>
void each_bit(std::uint64_t word, F f) {
  for (; word != 0; word &= word - 1) f(static_cast<std::uint32_t>(std::countr_zero(word)));
}

}  // namespace shunt::apps
