#include <shunt/graph/graph.hpp>

#include <algorithm>
#include <functional>
#include <numeric>
#include <shunt/base/error.hpp>
#include <string>
#include <utility>

namespace shunt {
inline namespace v1 {
namespace graph {
namespace {

/// Y1 and Y2. Called in debug builds only.
[[maybe_unused]] bool well_formed(const row_block& rows) {
  if (rows.first != 0 || rows.count() > max_vertices || rows.offsets.front() != 0 ||
      rows.offsets.back() != rows.columns.size() || !std::is_sorted(rows.offsets.begin(), rows.offsets.end())) {
    return false;
  }
  for (std::size_t v = 0; v < rows.count(); ++v) {
    const auto row = rows.row(static_cast<vertex>(v));
    if (std::adjacent_find(row.begin(), row.end(), std::greater_equal<>()) != row.end() ||
        (!row.empty() && row.back() >= v)) {
      return false;
    }
  }
  return true;
}

}  // namespace

graph graph::from_edges(std::uint64_t vertices, std::span<const edge> edges) {
  if (vertices > max_vertices) {
    throw usage_error(error_number(1008), "graph: " + std::to_string(vertices) + " vertices, at most " +
                                              std::to_string(max_vertices) + " fit");
  }
  graph made;
  auto& offsets = made.rows_.offsets;
  auto& columns = made.rows_.columns;

  // Row v's count goes two places up, so that after the running sum offsets[v + 1] is where row v
  // starts; filling row v moves that up to where row v + 1 starts, which is what offsets[v + 1]
  // must be in the end. One array serves as counts, cursors and offsets.
  offsets.assign(vertices + 2, 0);
  for (const edge& e : edges) {
    const vertex high = std::max(e.a, e.b);
    if (high >= vertices) {
      throw usage_error(error_number(1015), "graph: edge " + std::to_string(e.a) + "-" + std::to_string(e.b) +
                                                " in a graph of " + std::to_string(vertices) + " vertices");
    }
    if (e.a == e.b) {
      ++made.cleaned_.self_loops;
    } else {
      ++offsets[std::size_t{high} + 2];
    }
  }
  std::partial_sum(offsets.begin(), offsets.end(), offsets.begin());
  columns.resize(edges.size() - made.cleaned_.self_loops);
  for (const edge& e : edges) {
    if (e.a != e.b) {
      columns[offsets[std::size_t{std::max(e.a, e.b)} + 1]++] = std::min(e.a, e.b);
    }
  }
  offsets.pop_back();

  std::uint64_t kept = 0;
  std::uint64_t begin = 0;
  for (std::size_t v = 0; v < vertices; ++v) {
    const std::uint64_t end = offsets[v + 1];
    const auto from = columns.begin() + static_cast<std::ptrdiff_t>(begin);
    const auto to = columns.begin() + static_cast<std::ptrdiff_t>(end);
    std::sort(from, to);
    const auto unique_to = std::unique(from, to);
    const auto size = static_cast<std::uint64_t>(unique_to - from);
    if (kept != begin) {
      std::move(from, unique_to, columns.begin() + static_cast<std::ptrdiff_t>(kept));
    }
    offsets[v] = kept;
    kept += size;
    begin = end;
  }
  offsets[vertices] = kept;
  made.cleaned_.duplicates = columns.size() - kept;
  if (kept != columns.size()) {
    columns.resize(kept);
    columns.shrink_to_fit();
  }
  return made;
}

graph graph::from_rows(row_block rows, dropped left_out) {
  SHUNT_ASSERT(well_formed(rows));
  graph made;
  made.cleaned_ = left_out;
  made.rows_ = std::move(rows);
  return made;
}

std::vector<vertex> degrees(const graph& g) {
  std::vector<vertex> degree(g.vertices());
  for (vertex v = 0; v < g.vertices(); ++v) {
    degree[v] += static_cast<vertex>(g.row(v).size());
    for (const vertex u : g.row(v)) ++degree[u];
  }
  return degree;
}

std::vector<vertex> degree_order(const graph& g) {
  const std::vector<vertex> degree = degrees(g);
  const std::size_t busiest = degree.empty() ? 0 : *std::max_element(degree.begin(), degree.end());
  // A counting sort: next[d] is the next free number for a vertex of degree d.
  std::vector<vertex> next(busiest + 2, 0);
  for (const vertex d : degree) ++next[d];
  vertex before = 0;
  for (std::size_t d = busiest + 1; d-- > 0;) before += std::exchange(next[d], before);
  std::vector<vertex> number(degree.size());
  for (std::size_t v = 0; v < degree.size(); ++v) number[v] = next[degree[v]]++;
  return number;
}

graph relabel(const graph& g, std::span<const vertex> new_number) {
  std::vector<bool> taken(g.vertices());
  if (new_number.size() != g.vertices()) {
    throw usage_error(error_number(1016), "graph: " + std::to_string(new_number.size()) + " new numbers for " +
                                              std::to_string(g.vertices()) + " vertices");
  }
  for (const vertex v : new_number) {
    if (v >= g.vertices() || taken[v]) {
      throw usage_error(error_number(1016), "graph: new number " + std::to_string(v) + " is " +
                                                (v < g.vertices() ? "given twice" : "out of range") +
                                                ", expected each of 0.." + std::to_string(g.vertices() - 1) + " once");
    }
    taken[v] = true;
  }
  std::vector<edge> edges;
  edges.reserve(g.edges());
  for (vertex v = 0; v < g.vertices(); ++v) {
    for (const vertex u : g.row(v)) edges.push_back({new_number[v], new_number[u]});
  }
  graph made = graph::from_edges(g.vertices(), edges);
  made.cleaned_ =
      g.cleaned_;  // a permutation makes neither loops nor duplicates, and the caller asks for what the file had
  return made;
}

graph by_degree(const graph& g) { return relabel(g, degree_order(g)); }

std::uint64_t wedges(const graph& g) noexcept {
  std::uint64_t sum = 0;
  for (vertex v = 0; v < g.vertices(); ++v) {
    const std::uint64_t n = g.row(v).size();
    sum += n == 0 ? 0 : (n % 2 == 0 ? n / 2 * (n - 1) : (n - 1) / 2 * n);
  }
  return sum;
}

std::uint64_t count_triangles_serial(const graph& g) noexcept {
  std::uint64_t found = 0;
  for (vertex v = 0; v < g.vertices(); ++v) {
    const auto mine = g.row(v);
    for (const vertex u : mine) {
      // Both rows ascend, and u's holds nothing from u on: the merge ends by itself at u.
      const auto theirs = g.row(u);
      auto a = mine.begin();
      auto b = theirs.begin();
      while (a != mine.end() && b != theirs.end()) {
        const vertex x = *a;
        const vertex y = *b;
        found += x == y ? 1 : 0;
        a += x <= y ? 1 : 0;
        b += y <= x ? 1 : 0;
      }
    }
  }
  return found;
}

}  // namespace graph
}  // namespace v1
}  // namespace shunt
