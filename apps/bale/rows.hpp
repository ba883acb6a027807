/// The rows of a lower triangular matrix that one PE owns: row v of the graph is row v / count of PE v % count.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <shunt/graph/graph.hpp>
#include <span>
#include <vector>

namespace shunt::apps {

using graph::vertex;

/// Whether k is one of ascending columns. Halves them without branches until a few lines are left, then looks at all of
/// these: a comparison of many columns at once is cheaper than a branch that no processor predicts.
[[nodiscard]] inline bool is_in(std::span<const vertex> columns, vertex k) noexcept {
  const vertex* first = columns.data();
  std::size_t n = columns.size();
  while (n > 32) {
    const std::size_t half = n / 2;
    first = first[half] <= k ? first + half : first;
    n -= half;
  }
  unsigned hits = 0;
  for (std::size_t i = 0; i < n; ++i) hits += first[i] == k;
  return hits != 0;
}

/// How many of the ascending columns `sought` are among the ascending ones of a row. A function of its own: compiled
/// into each form's handler, the same loops took up to a quarter longer in one than in another.
[[nodiscard, gnu::noinline]] inline std::uint64_t in_common(std::span<const vertex> row,
                                                            std::span<const vertex> sought) noexcept {
  if (row.size() * sought.size() < 24 * (row.size() + sought.size())) {  // all with all: many at once
    std::uint32_t found = 0;
    std::size_t k = 0;
    for (; k + 4 <= sought.size(); k += 4) {  // a column is loaded once for four
      const auto a = sought[k], b = sought[k + 1], c = sought[k + 2], d = sought[k + 3];
      for (const auto column : row) found += (column == a) + (column == b) + (column == c) + (column == d);
    }
    for (; k != sought.size(); ++k) {
      for (const auto column : row) found += column == sought[k];
    }
    return found;
  }
  std::uint64_t found = 0;
  for (std::size_t i = 0, k = 0; i < row.size() && k < sought.size();) {  // no branch that is not foreseen
    const auto a = row[i], b = sought[k];
    found += a == b, i += a <= b, k += b <= a;
  }
  return found;
}

struct rows {
  std::vector<std::uint64_t> offsets{0};
  std::vector<vertex> columns;
  int pe = 0;
  int pes = 1;

  rows(int owner, int owners) : pe(owner), pes(owners) {}

  void append(std::span<const vertex> row) {
    columns.insert(columns.end(), row.begin(), row.end());
    offsets.push_back(columns.size());
  }
  [[nodiscard]] std::uint32_t count() const noexcept { return static_cast<std::uint32_t>(offsets.size() - 1); }
  /// \param local  0..count()-1
  [[nodiscard]] std::span<const vertex> row(std::uint32_t local) const noexcept {
    return {columns.data() + offsets[local], columns.data() + offsets[local + 1]};
  }
  [[nodiscard]] int owner(vertex v) const noexcept { return static_cast<int>(v % static_cast<vertex>(pes)); }
  [[nodiscard]] std::uint32_t local(vertex v) const noexcept { return v / static_cast<vertex>(pes); }

  /// Whether column k is in a row.
  [[nodiscard]] bool has(std::uint32_t local, vertex k) const noexcept { return is_in(row(local), k); }
  /// How many of the ascending columns are in a row.
  [[nodiscard]] std::uint64_t has_of(std::uint32_t local, std::span<const vertex> sought) const noexcept {
    return in_common(row(local), sought);
  }
  /// Where in `columns` column k of a row stands; none: nowhere.
  [[nodiscard]] std::size_t find(std::uint32_t local, vertex k) const noexcept {
    const auto all = row(local);
    const auto at = std::lower_bound(all.begin(), all.end(), k);
    return at == all.end() || *at != k ? none : offsets[local] + static_cast<std::size_t>(at - all.begin());
  }
  static constexpr std::size_t none = ~std::size_t{0};
};

/// The rows of a whole graph that a PE owns.
[[nodiscard]] inline rows deal(const graph::graph& g, int pe, int pes) {
  rows mine(pe, pes);
  for (auto v = static_cast<std::uint64_t>(pe); v < g.vertices(); v += static_cast<std::uint64_t>(pes)) {
    mine.append(g.row(static_cast<vertex>(v)));
  }
  return mine;
}

/// What a PE was asked, and what it found.
struct tally {
  std::uint64_t asked = 0;
  std::uint64_t found = 0;

  tally& operator+=(const tally& other) noexcept {
    asked += other.asked, found += other.found;
    return *this;
  }
};

}  // namespace shunt::apps
