/// Topological sort, a level at a time: a row with one column left reads in which rows that column is, and takes it out
/// of them. One word holds a row's number of columns and their sum, so that this is one atomic operation.
#pragma once
#include "shared_matrix.hpp"
namespace bench {
template <class Net>
struct sorting {
  explicit sorting(std::size_t height) : left(height), columns(height), counts(static_cast<std::size_t>(Net::pes())) {}
  typename Net::template array<std::int64_t> left;      // of a row: columns * `one_column` + their sum
  typename Net::template array<std::uint32_t> columns;  // where they go
  typename Net::template array<std::int64_t> counts;
  permutation rows{};
};
inline constexpr std::int64_t one_column = std::int64_t{1} << 40;

/// \param turned  the transpose of `a`. \return levels
template <class Net>
std::uint64_t topological_sort(const matrix& a, shared_matrix<Net>& turned, sorting<Net>& s) {
  s.rows.assign(a.count(), 0);
  std::vector<ordinal> open(a.count()), now, its_rows;
  for (ordinal l = 0; l < a.count(); ++l) {
    open[l] = l;
    s.left.mine()[l] = static_cast<std::int64_t>(a.length(l)) * one_column;
    for (const auto column : a.row(l)) s.left.mine()[l] += column;
  }
  std::vector<std::int64_t> bounds(2 * Net::batch);
  Net::settle(s.left);
  for (std::uint64_t levels = 0, placed = 0;; ++levels) {
    now.clear();
    std::erase_if(open, [&](ordinal l) {
      const bool ready = s.left.mine()[l] / one_column == 1;
      if (ready) now.push_back(l);
      return ready;
    });
    const auto all = exchange<Net>(s.counts, now.size());
    if (all.sum == 0) {
      if (placed != a.height) throw std::logic_error("a matrix without a topological sort");
      return levels;
    }
    auto position = static_cast<ordinal>(a.height - placed - all.before);
    placed += all.sum;
    each_batch<Net>(now.size(), [&](std::size_t first, std::size_t last) {
      const auto column_of = [&](std::size_t i) { return static_cast<ordinal>(s.left.mine()[now[i]] % one_column); };
      std::vector<ordinal> columns;
      for (std::size_t i = first; i < last; ++i) {
        columns.push_back(column_of(i));
        s.rows[now[i]] = --position;
        const auto [pe, spot] = a.home.where(columns.back());
        s.columns.put_value(position, pe, spot);
        turned.offsets.get(&bounds[2 * (i - first)], pe, spot, 2);
      }
      turned.offsets.complete();
      std::size_t length = 0;
      for (std::size_t k = 0; k < columns.size(); ++k) {
        length += static_cast<std::size_t>(bounds[2 * k + 1] - bounds[2 * k]);
      }
      its_rows.resize(length);
      for (std::size_t k = 0, to = 0; k < columns.size(); ++k) {
        const auto count = static_cast<std::size_t>(bounds[2 * k + 1] - bounds[2 * k]);
        turned.columns.get(&its_rows[to], a.home.where(columns[k]).pe, static_cast<std::size_t>(bounds[2 * k]), count);
        to += count;
      }
      turned.columns.complete();
      for (std::size_t k = 0, i = 0; k < columns.size(); ++k) {
        for (auto n = bounds[2 * k + 1] - bounds[2 * k]; n > 0; --n, ++i) {
          const auto [pe, spot] = a.home.where(its_rows[i]);
          s.left.add(-(one_column + columns[k]), pe, spot);
        }
      }
    });
    Net::settle(s.left, s.columns);
  }
}
}  // namespace bench
