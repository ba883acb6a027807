// What a user's first program might be: counts, and checks its answer.
#include <cstdio>
#include <shunt/graph.hpp>
#include <shunt/pgas.hpp>
#include <vector>

int main(int argc, char** argv) {
  long total = 0;
  const int status = shunt::pgas::launch(argc, argv, [&total](shunt::pgas::pe& me) {
    shunt::pgas::symmetric<std::vector<long>> counts(me, 4);
    shunt::pgas::actor_of updates(counts);
    for (int i = 0; i < 100; ++i) {
      updates.send(i % me.count(), [spot = i % 4](auto& part) { ++part[static_cast<std::size_t>(spot)]; });
    }
    updates.finish();
    long mine = 0;
    for (const long count : *counts) mine += count;
    const long all = me.sum(mine);
    if (me.index() == 0) total = all == 100L * me.count() ? all : -1;

    // A graph whose triangles are known. Dealt out, it has each edge at both ends.
    const auto stars = shunt::graph::star_product::parse("1:3x4");
    const auto whole = stars.whole();
    std::vector<shunt::graph::edge> edges;
    for (shunt::graph::vertex v = 0; me.index() == 0 && v < whole.vertices(); ++v) {
      for (const auto u : whole.row(v)) edges.push_back({v, u});
    }
    const auto part = shunt::graph::distribute(me, whole.vertices(), edges);
    const bool right = me.sum(part.columns.size()) == 2 * stars.edges();
    if (me.index() == 0 && (!right || shunt::graph::count_triangles_serial(whole) != stars.triangles())) total = -1;
  });
  if (status == 0 && total >= 0) std::puts("consumer: right");
  return status == 0 && total < 0 ? 1 : status;
}
