/// How a PE's part of a graph is built: entries arrive, rows get their room, and each column goes into its row.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <shunt/graph/adjacency.hpp>
#include <span>
#include <vector>

namespace shunt {
inline namespace v1 {
namespace graph {
namespace detail {

/// An entry that has come to the owner of one of its ends.
struct arrived {
  std::uint32_t row;
  address column;
};

/// Entries in the order of their blocks of rows. What is done with a block's entries later stays within a cache.
class arrivals {
 public:
  /// \param expected  entries in all
  arrivals(std::uint32_t rows, std::uint64_t expected) : blocks_(rows / rows_a_block + 1) {
    for (auto& block : blocks_) block.reserve(expected / blocks_.size());
  }
  void add(const arrived& one) { blocks_[one.row / rows_a_block].push_back(one); }
  [[nodiscard]] std::span<std::vector<arrived>> blocks() noexcept { return blocks_; }

 private:
  static constexpr std::uint32_t rows_a_block = 2048;
  std::vector<std::vector<arrived>> blocks_;
};

/// Of each address the number of bits of how many neighbours the vertex has: 0 for none, 1 for one, 2 for up to three.
class magnitudes {
 public:
  explicit magnitudes(std::uint64_t size) : bits_(size) {}
  [[nodiscard]] std::uint8_t operator[](address a) const noexcept { return bits_[a]; }
  [[nodiscard]] std::span<std::uint8_t> words() noexcept { return bits_; }

  static constexpr std::size_t kinds = 34;  // a row may be longer than there are vertices
  static std::uint8_t of(std::uint64_t degree) noexcept {
    return static_cast<std::uint8_t>(std::min<std::uint64_t>(std::bit_width(degree), kinds - 1));
  }

 private:
  std::vector<std::uint8_t> bits_;
};

/// First: the lengths of the rows of `to`, which has none so far. \return their magnitudes, of this PE's addresses
[[nodiscard]] inline magnitudes make_room(adjacency& to, arrivals& all) {
  for (const auto& block : all.blocks()) {
    for (const auto& one : block) ++to.offsets[one.row + std::size_t{1}];
  }
  magnitudes mine(to.at.size_of_one());
  for (std::uint32_t l = 0; l < to.count(); ++l) {
    mine.words()[l] = magnitudes::of(to.offsets[l + 1]);
    to.offsets[l + 1] += to.offsets[l];
  }
  to.columns.resize(to.offsets.back());
  return mine;
}

/// Then each column goes into its row, the busiest first. \param busy  of all addresses
inline void place_columns(adjacency& to, arrivals& all, const magnitudes& busy) {
  std::vector<arrived> sorted;
  for (auto& block : all.blocks()) {
    std::array<std::size_t, magnitudes::kinds + 1> begin{};  // of the kind above: the busiest are first
    for (const auto& one : block) ++begin[magnitudes::kinds - busy[one.column]];
    for (std::size_t kind = 1; kind < begin.size(); ++kind) begin[kind] += begin[kind - 1];
    sorted.resize(block.size());
    for (const auto& one : block) sorted[begin[magnitudes::kinds - 1 - busy[one.column]]++] = one;
    for (const auto& one : sorted) to.columns[to.offsets[one.row]++] = one.column;
    std::vector<arrived>().swap(block);
  }
  // Each offset is now its row's end: the next one's begin.
  std::copy_backward(to.offsets.begin(), to.offsets.end() - 1, to.offsets.end());
  to.offsets.front() = 0;
}

}  // namespace detail
}  // namespace graph
}  // namespace v1
}  // namespace shunt
