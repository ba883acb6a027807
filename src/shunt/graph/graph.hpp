/// Simple undirected graphs in one process, numberings of their vertices, and the serial count of triangles that checks
/// distributed ones.
///
///        edges 1-0  2-0  2-1  4-2            row   0  1  2    3  4
///                                            ------------------------
///        (a vertex without edges, 3,         lists    0  0 1     2        columns
///         has a number all the same)               0  0  1    3  3  4     offsets
///
/// A graph is the strictly lower triangular half of its adjacency matrix, compressed by rows: row v
/// lists v's neighbours u < v. Nothing here knows how many processing elements there are.
///
/// Invariants
///   Y1  Vertices are 0..vertices()-1, and vertices() <= max_vertices.
///   Y2  Row v is strictly ascending and every number in it is below v: each edge stands once, at
///       its higher end; no self-loops, no duplicates.
///   Y3  A graph does not change once it is built, so any number of threads may read it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace shunt {
inline namespace v1 {
namespace graph {

/// A vertex, numbered from 0 without gaps.
using vertex = std::uint32_t;

/// The most vertices a graph can have: every count of vertices fits in a `vertex` too.
inline constexpr std::uint64_t max_vertices = std::numeric_limits<vertex>::max();

/// An undirected edge; the order of its ends means nothing.
struct edge {
  vertex a = 0;  ///< 0..vertices-1 of its graph
  vertex b = 0;  ///< likewise; a self-loop has `b` == `a`
  /// The same ends in the same order: 1-0 and 0-1 are not equal.
  friend bool operator==(const edge&, const edge&) = default;
};

/// What had to be taken out to make a graph simple.
struct dropped {
  std::uint64_t self_loops = 0;  ///< entries v-v
  std::uint64_t duplicates = 0;  ///< entries whose edge was there already, in either direction
  friend bool operator==(const dropped&, const dropped&) = default;  ///< equal if both counts are
};

/// Rows first..first + count() - 1 of a lower triangular matrix: what one owner of a block of rows
/// holds. Row v is columns[offsets[v - first] .. offsets[v - first + 1]).
struct row_block {
  vertex first = 0;                       ///< number of the first row
  std::vector<std::uint64_t> offsets{0};  ///< one more than there are rows; starts with 0
  std::vector<vertex> columns;            ///< neighbours, row by row

  /// How many rows there are.
  [[nodiscard]] std::size_t count() const noexcept { return offsets.size() - 1; }
  /// \param v  first..first + count() - 1.
  [[nodiscard]] std::span<const vertex> row(vertex v) const noexcept {
    const std::size_t at = v - first;
    return std::span(columns).subspan(offsets[at], offsets[at + 1] - offsets[at]);
  }
  /// The same rows with the same columns. Cost: O(rows + columns).
  friend bool operator==(const row_block&, const row_block&) = default;
};

/// See the head of this file. Any thread may call the const functions; those without a cost take a few instructions.
class graph {
 public:
  /// No vertices.
  graph() = default;

  /// Makes any list of edges simple: self-loops and duplicates are left out, and counted.
  /// \param vertices  0..max_vertices; may exceed the greatest number in `edges`.
  /// \param edges     in any order and direction.
  /// \throws usage_error when there are too many vertices, or an edge names one that is not there.
  /// Cost: O(vertices + edges * log(longest row)); memory 8 bytes a vertex, 4 an edge.
  [[nodiscard]] static graph from_edges(std::uint64_t vertices, std::span<const edge> edges);

  /// Adopts rows 0..count()-1, which the caller has made as Y2 wants them.
  /// Checked in debug builds. Cost: O(1).
  /// \param left_out  what the caller left out to make them so, for cleaned().
  [[nodiscard]] static graph from_rows(row_block rows, dropped left_out = {});

  /// How many: 0..max_vertices, those without edges too.
  [[nodiscard]] vertex vertices() const noexcept { return static_cast<vertex>(rows_.count()); }
  /// How many: each is counted once, not once for each end.
  [[nodiscard]] std::uint64_t edges() const noexcept { return rows_.columns.size(); }

  /// The neighbours of v that are below v, ascending. \param v  0..vertices()-1.
  [[nodiscard]] std::span<const vertex> row(vertex v) const noexcept { return rows_.row(v); }

  /// All rows at once: vertices()+1 offsets, edges() columns. A distributed program copies from
  /// these what each processing element owns.
  [[nodiscard]] std::span<const std::uint64_t> offsets() const noexcept { return rows_.offsets; }
  /// As offsets(): row v is columns()[offsets()[v]..offsets()[v + 1] - 1].
  [[nodiscard]] std::span<const vertex> columns() const noexcept { return rows_.columns; }

  /// What was left out to make this graph simple: by from_edges(), or by the maker of its rows. A graph under other
  /// numbers, relabel(), has what its original has.
  [[nodiscard]] const dropped& cleaned() const noexcept { return cleaned_; }

  /// The same vertices and the same edges; what was dropped on the way does not matter.
  friend bool operator==(const graph& a, const graph& b) { return a.rows_ == b.rows_; }

 private:
  friend graph relabel(const graph& g, std::span<const vertex> new_number);

  row_block rows_;
  dropped cleaned_;
};

/// The number of neighbours of each vertex, above and below it. Cost: O(vertices + edges).
[[nodiscard]] std::vector<vertex> degrees(const graph& g);

/// The numbering that keeps rows short: entry v is v's new number; falling degree, and among equals
/// the old order. Busy vertices get low numbers, so that each edge stands in the row of its quieter
/// end: no row is longer than sqrt(2 * edges), since all in it are at least as busy as its owner.
/// (Rising degrees do the opposite: a hub's row would list all its neighbours.)
/// Any thread. Cost: O(vertices + edges).
[[nodiscard]] std::vector<vertex> degree_order(const graph& g);

/// The same graph under other numbers.
/// \param new_number  a permutation of 0..vertices()-1, one for each vertex.
/// \throws usage_error when it is not one.
/// Cost: as from_edges(); memory 8 bytes an edge for a time, and the new graph.
[[nodiscard]] graph relabel(const graph& g, std::span<const vertex> new_number);

/// relabel(g, degree_order(g)): same triangles, as a rule far fewer wedges. Cost: as relabel().
[[nodiscard]] graph by_degree(const graph& g);

/// The work of counting triangles by asking "is j-k an edge?": the number of (row l, j > k, both in
/// row l). Depends on the numbering. Cost: O(vertices).
[[nodiscard]] std::uint64_t wedges(const graph& g) noexcept;

/// The oracle: for each edge v-u the rows of v and u are merged, and what they share is counted.
/// Meant to share nothing with the programs that it checks.
/// Cost: O(sum over edges v-u of both rows' lengths): relabel by degree first where hubs abound.
[[nodiscard]] std::uint64_t count_triangles_serial(const graph& g) noexcept;

}  // namespace graph
}  // namespace v1
}  // namespace shunt
