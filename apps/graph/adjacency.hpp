/// A graph that is dealt out over the PEs: vertex v is row v / count of PE v % count, and lists its neighbours.
///
///   address of a vertex    |  PE  |   row    |      32 bits; the rows of one PE have neighbouring addresses
///                                  `shift` bits
///
///   the PE's part          offsets   0     2  3        6
///                          columns   7  1  5  2  7  9         addresses of neighbours
///
/// Invariants, once it is built
///   J1  offsets has count() + 1 entries, begins with 0, never falls, and ends with the number of columns.
///   J2  Each entry of the input stands in the rows of both of its ends, a double one twice; self-loops are left out.
///   J3  In each row, neighbours with more neighbours of their own come first, by the number's magnitude.
#pragma once

#include <algorithm>
#include <array>
#include <bale/place.hpp>
#include <bit>
#include <cstdint>
#include <graph/graph.hpp>
#include <shunt/base/error.hpp>
#include <shunt/pgas.hpp>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace shunt::apps {

/// A vertex by where it lives.
using address = std::uint32_t;
/// No vertex.
inline constexpr address nowhere = ~address{0};

/// Turns numbers of vertices into addresses and back, as one PE of a job sees them.
class addresses {
 public:
  /// \throws usage_error for more vertices than have addresses: 2^32 at most, where the rows of a PE are rounded up to
  /// a power of two.
  addresses(const pgas::pe& me, std::uint64_t vertices)
      : deal_(me.index(), me.count()), pe_(static_cast<std::uint32_t>(me.index())), vertices_(vertices) {
    const auto pes = static_cast<std::uint64_t>(me.count());
    const std::uint64_t most_rows = (vertices + pes - 1) / pes;
    shift_ = std::max(static_cast<int>(std::bit_width(most_rows < 2 ? 0 : most_rows - 1)), 6);
    if (size(me.count()) >= nowhere) {
      throw usage_error("a graph of " + std::to_string(vertices) + " vertices has no addresses on " +
                        std::to_string(pes) + " PEs; take a power of two of PEs");
    }
  }

  [[nodiscard]] address of(graph::vertex v) const noexcept {
    const auto [pe, row] = deal_.where(v);
    return static_cast<address>(pe) << shift_ | row;
  }
  [[nodiscard]] address of_row(std::uint32_t row) const noexcept { return pe_ << shift_ | row; }
  [[nodiscard]] int owner(address a) const noexcept { return static_cast<int>(a >> shift_); }
  [[nodiscard]] std::uint32_t row(address a) const noexcept { return a & ((1u << shift_) - 1); }
  [[nodiscard]] graph::vertex vertex(address a, int pes) const noexcept {
    return row(a) * static_cast<std::uint32_t>(pes) + static_cast<std::uint32_t>(owner(a));
  }
  [[nodiscard]] graph::vertex vertex_of_row(std::uint32_t row) const noexcept { return deal_.global(row); }

  [[nodiscard]] std::uint64_t vertices() const noexcept { return vertices_; }
  /// Rows of this PE.
  [[nodiscard]] std::uint32_t rows() const noexcept { return deal_.count(vertices_); }
  /// Addresses of all PEs, and of one: those of a PE are a multiple of 64.
  [[nodiscard]] std::uint64_t size(int pes) const noexcept { return static_cast<std::uint64_t>(pes) << shift_; }
  [[nodiscard]] std::uint64_t size_of_one() const noexcept { return std::uint64_t{1} << shift_; }

 private:
  dealt deal_;
  std::uint32_t pe_;
  std::uint64_t vertices_;
  int shift_ = 0;
};

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

struct adjacency {
  addresses at;
  std::vector<std::uint64_t> offsets;
  std::vector<address> columns;

  adjacency(const pgas::pe& me, std::uint64_t vertices) : at(me, vertices), offsets(std::size_t{at.rows()} + 1) {}

  [[nodiscard]] std::uint32_t count() const noexcept { return static_cast<std::uint32_t>(offsets.size() - 1); }
  [[nodiscard]] std::span<const address> row(std::uint32_t local) const noexcept {
    return {columns.data() + offsets[local], columns.data() + offsets[local + 1]};
  }
  [[nodiscard]] std::uint64_t degree(std::uint32_t local) const noexcept { return offsets[local + 1] - offsets[local]; }

  /// Local. Leaves double entries out, and orders rows by address.
  void simplify() {
    std::uint64_t kept = 0;
    for (std::uint32_t l = 0; l < count(); ++l) {
      const auto begin = std::exchange(offsets[l], kept), end = offsets[l + std::size_t{1}];
      std::sort(columns.data() + begin, columns.data() + end);
      for (auto i = begin; i < end; ++i) {
        if (i == begin || columns[i] != columns[kept - 1]) columns[kept++] = columns[i];
      }
    }
    offsets.back() = kept;
    columns.resize(kept);
  }

  /// Builds: the lengths of the rows. \return their magnitudes, of this PE's addresses
  [[nodiscard]] magnitudes make_room(arrivals& all) {
    for (const auto& block : all.blocks()) {
      for (const auto& one : block) ++offsets[one.row + std::size_t{1}];
    }
    magnitudes mine(at.size_of_one());
    for (std::uint32_t l = 0; l < count(); ++l) {
      mine.words()[l] = magnitudes::of(offsets[l + 1]);
      offsets[l + 1] += offsets[l];
    }
    columns.resize(offsets.back());
    return mine;
  }
  /// Builds: then each column goes into its row, the busiest first. \param busy  of all addresses
  void place(arrivals& all, const magnitudes& busy) {
    std::vector<arrived> sorted;
    for (auto& block : all.blocks()) {
      std::array<std::size_t, magnitudes::kinds + 1> begin{};  // of the kind above: the busiest are first
      for (const auto& one : block) ++begin[magnitudes::kinds - busy[one.column]];
      for (std::size_t kind = 1; kind < begin.size(); ++kind) begin[kind] += begin[kind - 1];
      sorted.resize(block.size());
      for (const auto& one : block) sorted[begin[magnitudes::kinds - 1 - busy[one.column]]++] = one;
      for (const auto& one : sorted) columns[offsets[one.row]++] = one.column;
      std::vector<arrived>().swap(block);
    }
    // Each offset is now its row's end: the next one's begin.
    std::copy_backward(offsets.begin(), offsets.end() - 1, offsets.end());
    offsets.front() = 0;
  }
};

}  // namespace shunt::apps
