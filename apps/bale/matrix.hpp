/// A sparse matrix without values that is dealt out over the PEs: row i is row i / count of PE i % count.
///
///   the PE's part, compressed by rows     offsets   0     2  3        4
///                                         columns   7  1  5  2
///
/// Invariants, once it is built
///   M1  offsets has count() + 1 entries, begins with 0, never falls, and ends with the number of columns.
///   M2  The columns of one row differ, and are in no order that is promised.
#pragma once

#include <algorithm>
#include <bale/place.hpp>
#include <cstdint>
#include <shunt/graph/pieces.hpp>
#include <shunt/pgas/pe.hpp>
#include <span>
#include <vector>

namespace shunt::apps {

using graph::in_pieces;
using graph::most_items;

/// Row and column of a non-zero.
struct entry {
  std::uint32_t row = 0;
  std::uint32_t column = 0;
};

struct matrix {
  std::uint32_t height = 0;  ///< rows of the whole matrix
  std::uint32_t width = 0;   ///< its columns
  dealt home;                ///< rows, and columns where something stands for each of them
  std::vector<std::uint64_t> offsets;
  std::vector<std::uint32_t> columns;

  /// Local. No non-zeros.
  matrix(const dealt& where, ordinal rows, ordinal columns_of_all)
      : height(rows), width(columns_of_all), home(where), offsets(home.count(rows) + std::size_t{1}) {}
  matrix(const pgas::pe& me, ordinal rows, ordinal columns_of_all)
      : matrix(dealt(me.index(), me.count()), rows, columns_of_all) {}

  /// Rows of this PE.
  [[nodiscard]] std::uint32_t count() const noexcept { return static_cast<std::uint32_t>(offsets.size() - 1); }
  /// \param local  0..count()-1
  [[nodiscard]] std::span<const std::uint32_t> row(std::uint32_t local) const noexcept {
    return in_row(local, columns);
  }
  [[nodiscard]] ordinal length(ordinal local) const noexcept {
    return static_cast<ordinal>(offsets[local + 1] - offsets[local]);
  }
  /// Of something that every non-zero has: what those of a row have.
  template <class T>
  [[nodiscard]] std::span<const T> in_row(std::uint32_t local, const std::vector<T>& of_all) const noexcept {
    return {of_all.data() + offsets[local], of_all.data() + offsets[local + 1]};
  }

  /// Builds: offsets[l + 1] is the length of row l so far. Makes room for them.
  void make_room() {
    for (std::size_t l = 1; l < offsets.size(); ++l) offsets[l] += offsets[l - 1];
    columns.resize(offsets.back());
  }
  /// Builds: the same, and then each entry, whose row is a local one, goes into its row.
  void place(std::span<const entry> entries) {
    make_room();
    for (const auto& e : entries) columns[offsets[e.row]++] = e.column;
    // Each offset is now its row's end: the next one's begin.
    std::copy_backward(offsets.begin(), offsets.end() - 1, offsets.end());
    offsets.front() = 0;
  }
};

/// Calls f(row, at, piece) for the rows of `a`, each in pieces of at most `most`, and for something that every non-zero
/// has; `at` is the number of those before in the row.
template <class Item, class F>
void each_piece(const matrix& a, const std::vector<Item>& of_all, std::size_t most, F f) {
  for (ordinal l = 0; l < a.count(); ++l) {
    const auto row = a.in_row(l, of_all);
    for (std::size_t at = 0; at < row.size(); at += most) {
      f(l, static_cast<ordinal>(at), row.subspan(at, std::min(most, row.size() - at)));
    }
  }
}

}  // namespace shunt::apps
