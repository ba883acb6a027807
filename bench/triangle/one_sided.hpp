/// Triangles by one-sided reads, for OpenSHMEM and for MPI: for each non-zero (i, j) of a local row i, row j is pulled
/// and compared with the columns of row i that are below j.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "input.hpp"

namespace bench {

template <class Net>
struct shared_rows {
  typename Net::template array<std::int64_t> offsets;
  typename Net::template array<std::uint32_t> columns;
  std::uint32_t pes;

  [[nodiscard]] int owner(std::uint32_t row) const { return static_cast<int>(row % pes); }
  [[nodiscard]] std::size_t local(std::uint32_t row) const { return row / pes; }
};

/// The published loop: bounds and columns of row j one word at a time, until the merge has passed row i's last column.
// kernel: word
template <class Net>
std::uint64_t count_by_word(const local_rows& mine, shared_rows<Net>& all) {
  std::uint64_t found = 0;
  for (std::size_t i = 0; i < mine.count(); ++i) {
    const auto row = mine.row(i);
    for (std::size_t at = 1; at < row.size(); ++at) {  // the first column has no k below it
      const auto j = row[at];
      std::int64_t first = 0, last = 0;
      all.offsets.get(&first, all.owner(j), all.local(j));
      all.offsets.get(&last, all.owner(j), all.local(j) + 1);
      std::size_t below = 0;
      for (; first < last && below < at; ++first) {
        std::uint32_t column = 0;
        all.columns.get(&column, all.owner(j), static_cast<std::size_t>(first));
        while (below < at && row[below] < column) ++below;
        found += below < at && row[below] == column;
      }
    }
  }
  return found;
}
// end of kernel

/// A PGAS programmer's next step: both bounds in one get, all columns in another.
// kernel: row
template <class Net>
std::uint64_t count_by_row(const local_rows& mine, shared_rows<Net>& all, std::size_t longest) {
  std::uint64_t found = 0;
  std::vector<std::uint32_t> pulled(longest);
  for (std::size_t i = 0; i < mine.count(); ++i) {
    const auto row = mine.row(i);
    for (std::size_t at = 1; at < row.size(); ++at) {
      const auto j = row[at];
      std::int64_t bounds[2];
      all.offsets.get(bounds, all.owner(j), all.local(j), 2);
      const auto length = static_cast<std::size_t>(bounds[1] - bounds[0]);
      if (length == 0) continue;
      all.columns.get(pulled.data(), all.owner(j), static_cast<std::size_t>(bounds[0]), length);
      found += row_contains_of(std::span(pulled).first(length), row.first(at));
    }
  }
  return found;
}
// end of kernel

/// The same, where reads do not wait: the bounds of many rows are under way together, and then their columns.
// kernel: rows
template <class Net>
std::uint64_t count_by_rows(const local_rows& mine, shared_rows<Net>& all, std::size_t longest) {
  constexpr std::size_t enough = 16'384;  // columns under way: they should still be near when they are compared
  std::uint64_t found = 0;
  std::vector<std::uint32_t> pulled(enough + longest);
  std::vector<std::int64_t> bounds;
  for (std::size_t i = 0; i < mine.count(); ++i) {
    const auto row = mine.row(i);
    bounds.resize(2 * row.size());
    for (std::size_t at = 1; at < row.size(); ++at) {
      all.offsets.get(&bounds[2 * at], all.owner(row[at]), all.local(row[at]), 2);
    }
    all.offsets.complete();
    const auto length = [&bounds](std::size_t at) {
      return static_cast<std::size_t>(bounds[2 * at + 1] - bounds[2 * at]);
    };
    for (std::size_t first = 1, last = 1; first < row.size(); first = last) {
      for (std::size_t to = 0; last < row.size() && to < enough; to += length(last++)) {
        if (length(last) == 0) continue;
        all.columns.get(&pulled[to], all.owner(row[last]), static_cast<std::size_t>(bounds[2 * last]), length(last));
      }
      all.columns.complete();
      for (std::size_t at = first, from = 0; at < last; from += length(at++)) {
        found += row_contains_of(std::span(pulled).subspan(from, length(at)), row.first(at));
      }
    }
  }
  return found;
}
// end of kernel

enum class reads { by_word, by_row, by_rows };

/// Collective. All rounds; PE 0 reports. `require`: what ends the program unless two numbers are equal.
template <class Net, class Require>
void count_triangles(const char* program, const bench_options& options, reads how, Require require) {
  const auto me = static_cast<std::uint32_t>(Net::me()), pes = static_cast<std::uint32_t>(Net::pes());
  const auto graph = make_graph(program, options, pes);
  const auto expected = expected_answer(graph);
  const local_rows mine(graph, me, pes);

  // Symmetric blocks have one size everywhere: the largest part's.
  std::size_t longest = 0, most_rows = 0, most_columns = 0;
  for (std::uint32_t v = 0; v < graph.vertices(); ++v) longest = std::max(longest, graph.row(v).size());
  for (std::uint32_t pe = 0; pe < pes; ++pe) {
    const local_rows part(graph, pe, pes);
    most_rows = std::max(most_rows, part.offsets.size());
    most_columns = std::max(most_columns, part.columns.size());
  }
  using offsets = typename Net::template array<std::int64_t>;
  using columns = typename Net::template array<std::uint32_t>;
  shared_rows<Net> all{offsets(most_rows), columns(most_columns), pes};
  std::copy(mine.offsets.begin(), mine.offsets.end(), all.offsets.mine().begin());
  std::copy(mine.columns.begin(), mine.columns.end(), all.columns.mine().begin());

  for (long round = 0; round < options.warmup + options.samples; ++round) {
    Net::settle(all.offsets, all.columns);
    const double start = bench_now();
    const auto found = how == reads::by_word  ? count_by_word<Net>(mine, all)
                       : how == reads::by_row ? count_by_row<Net>(mine, all, longest)
                                              : count_by_rows<Net>(mine, all, longest);
    const auto total = Net::sum(found);  // barriers included: the superstep's end
    const double seconds = Net::max(bench_now() - start);
    require(program, "number of triangles", total, expected.triangles);
    if (me == 0 && round >= options.warmup) bench_report(seconds, expected.members().c_str());
  }
}

}  // namespace bench
