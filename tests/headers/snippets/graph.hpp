/// What the code in the comments of module graph takes for granted: see tools/snippets.py.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <vector>

#include <shunt/graph.hpp>
#include <shunt/pgas.hpp>

namespace examples::graph_adjacency {
namespace pgas = shunt::pgas;
namespace graph = shunt::graph;
extern pgas::pe& me;
}  // namespace examples::graph_adjacency

namespace examples::graph_generate {
namespace graph = shunt::graph;
extern std::uint64_t pes;
extern std::uint64_t seed;
extern graph::vertex first_row, last_row;
}  // namespace examples::graph_generate

namespace examples::graph_read {
namespace graph = shunt::graph;
}  // namespace examples::graph_read
