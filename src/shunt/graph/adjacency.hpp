/// A graph that is dealt out over the PEs: vertex v is row v / PEs of PE v % PEs, and lists its neighbours. It is the
/// compressed sparse row format (CSR), a part on each PE.
///
///   address of a vertex    |  PE  |   row    |      32 bits; the rows of one PE have neighbouring addresses
///                                  `shift` bits
///
///   the PE's part          offsets   0     2  3        6
///                          columns   7  1  5  2  7  9         addresses of neighbours
///
/// ```cpp
/// const graph::rmat generator({.scale = 20}, 1);
/// const auto pe = static_cast<std::uint64_t>(me.index());
/// const auto pes = static_cast<std::uint64_t>(me.count());
/// const std::uint64_t all = generator.entries();
/// const std::vector<graph::edge> mine = generator.edges(all * pe / pes, all * (pe + 1) / pes);
/// graph::adjacency part = graph::distribute(me, generator.vertices(), mine);  // collective
/// std::uint64_t longest = 0;
/// for (std::uint32_t row = 0; row < part.count(); ++row) longest = std::max(longest, part.degree(row));
/// longest = me.max(longest);  // the greatest degree of the graph
/// ```
///
/// Invariants, once it is built
///   J1  offsets has count() + 1 entries, begins with 0, never falls, and ends with the number of columns.
///   J2  Each entry of the input stands in the rows of both of its ends, a double one twice; self-loops are left out.
///   J3  In each row, neighbours with more neighbours of their own come first, by the number's magnitude.
///
/// J3 serves searches that look for any neighbour with a property, bottom up: Beamer, Asanovic, Patterson:
/// Direction-optimizing breadth-first search. SC 2012, doi:10.1109/SC.2012.50.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <shunt/base/error.hpp>
#include <shunt/graph/deal.hpp>
#include <shunt/graph/graph.hpp>
#include <shunt/pgas/pe.hpp>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace shunt {
inline namespace v1 {
namespace graph {

/// A vertex by where it lives.
using address = std::uint32_t;
/// No vertex.
inline constexpr address nowhere = ~address{0};

/// Turns numbers of vertices into addresses and back, as one PE of a job sees them. All functions but the constructor
/// cost a few instructions, throw nothing, and may be called by any thread.
class addresses {
 public:
  /// Local. \param vertices  of the whole graph
  /// \throws usage_error for more vertices than have addresses. The rows of a PE, rounded up to a power of two and at
  /// least 64, times the PEs must be below 2^32: up to 2^31 vertices have addresses on any power of two of PEs.
  addresses(const pgas::pe& me, std::uint64_t vertices)
      : deal_(me.index(), me.count()), pe_(static_cast<std::uint32_t>(me.index())), vertices_(vertices) {
    const auto pes = static_cast<std::uint64_t>(me.count());
    if (vertices > std::uint64_t{1} << 32) refuse(pes);
    const std::uint64_t most_rows = (vertices + pes - 1) / pes;
    shift_ = std::max(static_cast<int>(std::bit_width(most_rows < 2 ? 0 : most_rows - 1)), 6);
    if (size(me.count()) >= nowhere) refuse(pes);
  }

  /// \param v  0..vertices()-1 (contract)
  [[nodiscard]] address of(shunt::graph::vertex v) const noexcept {
    const auto [pe, row] = deal_.where(v);
    return static_cast<address>(pe) << shift_ | row;
  }
  /// Of a row of this PE. \param row  0..rows()-1 (contract)
  [[nodiscard]] address of_row(std::uint32_t row) const noexcept { return pe_ << shift_ | row; }
  /// The PE that has the vertex: 0..PEs-1.
  [[nodiscard]] int owner(address a) const noexcept { return static_cast<int>(a >> shift_); }
  /// The vertex's row on that PE.
  [[nodiscard]] std::uint32_t row(address a) const noexcept { return a & ((1u << shift_) - 1); }
  /// The vertex's number. \param pes  of the job
  [[nodiscard]] shunt::graph::vertex vertex(address a, int pes) const noexcept {
    return row(a) * static_cast<std::uint32_t>(pes) + static_cast<std::uint32_t>(owner(a));
  }
  /// The number of the vertex of a row of this PE. \param row  0..rows()-1 (contract)
  [[nodiscard]] shunt::graph::vertex vertex_of_row(std::uint32_t row) const noexcept { return deal_.global(row); }

  /// Of the whole graph.
  [[nodiscard]] std::uint64_t vertices() const noexcept { return vertices_; }
  /// Rows of this PE.
  [[nodiscard]] std::uint32_t rows() const noexcept { return deal_.count(vertices_); }
  /// How many addresses all PEs have, those without a vertex too: an array that is indexed by address has so many
  /// entries. \param pes  of the job
  [[nodiscard]] std::uint64_t size(int pes) const noexcept { return static_cast<std::uint64_t>(pes) << shift_; }
  /// Addresses of one PE: a multiple of 64, so that the bits of a PE fill whole words.
  [[nodiscard]] std::uint64_t size_of_one() const noexcept { return std::uint64_t{1} << shift_; }

 private:
  [[noreturn, gnu::cold]] void refuse(std::uint64_t pes) const {
    throw usage_error(error_number(1002),
                      "a graph of " + std::to_string(vertices_) + " vertices has no addresses on " +
                          std::to_string(pes) +
                          " PEs: the rows of a PE, rounded up to a power of two, times the PEs must "
                          "be below 2^32");
  }

  dealt deal_;
  std::uint32_t pe_;
  std::uint64_t vertices_;
  int shift_ = 0;
};

/// A PE's part of the graph. distribute() makes it. All functions are local; those that are const may be called by any
/// thread at the same time, and cost a few instructions.
struct adjacency {
  addresses at;                        ///< turns vertices into addresses and back, for this PE
  std::vector<std::uint64_t> offsets;  ///< count() + 1 entries: the columns of row r are offsets[r]..offsets[r + 1] - 1
  std::vector<address> columns;        ///< addresses of neighbours, row by row

  /// Local. Rows without neighbours. \param vertices  of the whole graph
  /// \throws usage_error as addresses; std::bad_alloc. Cost: O(rows of this PE); memory 8 bytes a row.
  adjacency(const pgas::pe& me, std::uint64_t vertices) : at(me, vertices), offsets(std::size_t{at.rows()} + 1) {}

  /// Rows of this PE.
  [[nodiscard]] std::uint32_t count() const noexcept { return static_cast<std::uint32_t>(offsets.size() - 1); }
  /// Addresses of a row's neighbours. \param local  0..count()-1 (contract)
  [[nodiscard]] std::span<const address> row(std::uint32_t local) const noexcept {
    return {columns.data() + offsets[local], columns.data() + offsets[local + 1]};
  }
  /// How many neighbours a row has, a double one twice. \param local  0..count()-1 (contract)
  [[nodiscard]] std::uint64_t degree(std::uint32_t local) const noexcept { return offsets[local + 1] - offsets[local]; }

  /// Local. Leaves double entries out, and orders rows by address: J3 no longer holds.
  /// Cost: a sort of each row.
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
};

/// Collective. Deals a graph out: kernel 1 of Graph500. Each entry goes to the owners of both of its ends, which place
/// it.
/// \param vertices  of the whole graph: the same on every PE
/// \param entries   this PE's share of the edges, in any order and direction: the PEs' shares together are the graph.
///   Self-loops are left out.
/// \return this PE's part. It depends on the graph and the number of PEs, but for the order of a row's neighbours among
///   those of the same magnitude.
/// \throws usage_error as addresses, and for an end that is not below `vertices`; std::bad_alloc, and what
///   actor_of::send() and finish() throw.
/// Cost: two messages an entry, one byte of each address to each PE, and a sort by magnitude; memory for a time some 40
/// bytes an entry and, on each PE, a byte for each address of the whole graph; afterwards 8 bytes a row and 8 an entry.
[[nodiscard]] adjacency distribute(pgas::pe& me, std::uint64_t vertices, std::span<const edge> entries);

}  // namespace graph
}  // namespace v1
}  // namespace shunt
