/// The triangle table's inputs, for every system the same: the graph, the serial oracle's answer and
/// each PE's rows.
///
/// Rows are dealt cyclically: row v belongs to PE v % pes, as its local row v / pes. Graphs do not
/// depend on the number of PEs, except that `er` has `--rows` rows for each of them.
#pragma once

#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include <shunt/graph/generate.hpp>
#include <shunt/graph/graph.hpp>
#include "../common/program.h"
#include "../common/random.h"

namespace bench {

/// `er`: Erdős–Rényi, --row-nonzeros being the mean of the lower triangle's rows, as bale's option
/// means it. `rmat`: R-MAT, numbered by falling degree, without which hubs' rows make 6 times the
/// wedges for the same triangles.
inline shunt::graph::graph make_graph(const char* program, const bench_options& options, std::uint64_t pes) {
  using namespace shunt::graph;
  if (std::strcmp(options.graph, "er") == 0) {
    return erdos_renyi::with_lower_row_mean(static_cast<std::uint64_t>(options.rows) * pes,
                                            static_cast<double>(options.row_nonzeros), BENCH_SEED)
        .whole();
  }
  if (std::strcmp(options.graph, "rmat") == 0) {
    rmat::parameters chosen;
    chosen.scale = static_cast<unsigned>(options.scale);
    chosen.edge_factor = static_cast<std::uint64_t>(options.edge_factor);
    return by_degree(rmat(chosen, BENCH_SEED).whole());
  }
  bench_bad_option(program, "--graph", options.graph);
  std::abort();  // bench_bad_option does not return
}

struct answer {
  std::uint64_t triangles = 0;
  std::uint64_t wedges = 0;

  /// The further members of a sample's line.
  [[nodiscard]] std::string members() const {
    return ", \"triangles\": " + std::to_string(triangles) + ", \"wedges\": " + std::to_string(wedges);
  }
};

inline answer expected_answer(const shunt::graph::graph& g) {
  return {shunt::graph::count_triangles_serial(g), shunt::graph::wedges(g)};
}

/// The rows that one PE owns, compressed.
struct local_rows {
  std::vector<std::uint64_t> offsets{0};
  std::vector<std::uint32_t> columns;

  local_rows(const shunt::graph::graph& g, std::uint64_t me, std::uint64_t pes) {
    for (std::uint64_t v = me; v < g.vertices(); v += pes) {
      const auto row = g.row(static_cast<shunt::graph::vertex>(v));
      columns.insert(columns.end(), row.begin(), row.end());
      offsets.push_back(columns.size());
    }
  }

  [[nodiscard]] std::size_t count() const { return offsets.size() - 1; }
  [[nodiscard]] std::span<const std::uint32_t> row(std::size_t local) const {
    return std::span(columns).subspan(offsets[local], offsets[local + 1] - offsets[local]);
  }
};

/// Whether `column` stands in an ascending row: the handler of one wedge. Without a branch on the
/// data, since where the search goes is a coin toss each time.
inline std::uint64_t row_contains(std::span<const std::uint32_t> row, std::uint32_t column) {
  const std::uint32_t* base = row.data();
  std::size_t length = row.size();
  if (length == 0) return 0;
  while (length > 1) {
    const std::size_t half = length / 2;
    base += (base[half - 1] < column) ? half : 0;
    length -= half;
  }
  return *base == column;
}

/// How many of the ascending `columns` stand in an ascending row: the handler of many wedges that
/// ask the same row. Short lists are compared all with all, which vectorises; others are merged.
inline std::uint64_t row_contains_of(std::span<const std::uint32_t> row, std::span<const std::uint32_t> columns) {
  const std::size_t pairs = row.size() * columns.size();
  if (pairs < 24 * (row.size() + columns.size())) {
    std::uint32_t found = 0;  // as wide as what is compared; at most 48 * 48 pairs or one long list
    for (const auto wanted : columns) {
      for (const auto column : row) found += column == wanted;
    }
    return found;
  }
  std::uint64_t found = 0;
  for (std::size_t r = 0, c = 0; r < row.size() && c < columns.size();) {
    const auto left = row[r];
    const auto right = columns[c];
    found += left == right;
    r += left <= right;
    c += right <= left;
  }
  return found;
}

}  // namespace bench
