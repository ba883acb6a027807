/// The input of table bfs, for every system the same: Graph500's graph and roots. A sample searches from all roots, and
/// its time is that of the searches alone; of `construct`, that of making the graph out of its entries.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include <shunt/graph/generate.hpp>

#include "../common/program.h"
#include "../common/random.h"

namespace bench {

struct searches {
  std::uint64_t entries;
  std::uint64_t vertices;
  shunt::graph::rmat graph;
  bool constructs;

  searches(const char* program, const bench_options& o)
      : searches({.scale = static_cast<unsigned>(o.scale), .edge_factor = static_cast<std::uint64_t>(o.edge_factor)},
                 std::strcmp(o.what, "construct") == 0) {
    if (!constructs && std::strcmp(o.what, "search") != 0) bench_bad_option(program, "--what", o.what);
  }
  [[nodiscard]] std::vector<shunt::graph::edge> part(int pe, int pes) const {
    const auto at = [&](int p) { return entries * static_cast<std::uint64_t>(p) / static_cast<std::uint64_t>(pes); };
    return graph.edges(at(pe), at(pe + 1));
  }

 private:
  searches(const shunt::graph::rmat::parameters& chosen, bool construct)
      : entries(0), vertices(0), graph(chosen, BENCH_SEED), constructs(construct) {
    entries = graph.entries();
    vertices = graph.vertices();
  }
};

/// What the searches of one sample came to.
struct rates {
  double seconds = 0;
  double seconds_an_edge = 0;  ///< summed over the searches
  long searches = 0;
  std::uint64_t sum = 0;  ///< over all vertices that were reached, of level times number

  void add(double took, std::uint64_t edges, std::uint64_t levels) {
    seconds += took;
    seconds_an_edge += took / static_cast<double>(edges);
    ++searches;
    sum += levels;
  }
  void print() const {
    const double teps = static_cast<double>(searches) / seconds_an_edge;  // their harmonic mean
    bench_report(seconds, (", \"sum\": " + std::to_string(sum) + ", \"teps\": " + std::to_string(teps)).c_str());
  }
};

}  // namespace bench
