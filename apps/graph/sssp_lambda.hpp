/// Shortest paths from one vertex, kernel 3 of Graph500, by delta stepping: bucket after bucket of vertices at similar
/// distances; within one, light links until nothing changes, then heavy ones once.
///
/// Distances are floats. Rounding keeps their order, so they are those of Dijkstra's algorithm to the last bit.
///
/// Source: Meyer, Sanders: Delta-stepping: a parallelizable shortest path algorithm. Journal of Algorithms 49 (2003),
/// doi:10.1016/S0196-6774(03)00076-2.
#pragma once
#include <graph/weighted.hpp>
namespace shunt::apps::lambda_form {
/// Collective. \param entries  this PE's, of which the first is entry `first` of the input
inline weighted_rows distribute(pgas::pe& me, std::uint64_t vertices, std::uint64_t first,
                                std::span<const graph::edge> entries, const entry_weights& weights) {
  pgas::symmetric<weighted_rows> made(me, me, vertices);
  pgas::actor_of ends(made);
  for (const auto [a, b] : entries) {
    const auto weight = weights[first++];
    const auto at_a = made->at.of(a), at_b = made->at.of(b);
    for (const auto& [to, other] : {std::pair(at_a, at_b), std::pair(at_b, at_a)})
      if (a != b)
        ends.send(made->at.owner(to),
                  [row = made->at.row(to), one = link{other, weight}](weighted_rows& g) { g.add(row, one); });
  }
  ends.finish();
  made->place();
  return std::move(*made);
}
/// Collective. \param each_bucket  called after each bucket
template <class EachBucket>
paths sssp(pgas::pe& me, const weighted_rows& g, address root, float delta, EachBucket each_bucket) {
  pgas::symmetric<paths> found(me, g, delta);
  pgas::actor_of actor(found);
  const auto follow = [&](const std::vector<std::uint32_t>& rows, bool light) {
    for (const auto row : rows)
      for (const auto [to, weight] : g.row(row, delta, light))
        actor.send(g.at.owner(to),
                   [there = g.at.row(to), from = g.at.of_row(row), length = found->distance[row] + weight](paths& p) {
                     p.relax(there, length, from);
                   });
    actor.finish();
  };
  if (g.at.owner(root) == me.index()) found->relax(g.at.row(root), 0, root);
  for (std::uint64_t bucket = 0;; each_bucket()) {
    bucket = me.min(found->next(bucket));
    if (bucket == ~std::uint64_t{0}) return std::move(*found);
    std::vector<std::uint32_t> settled;
    for (;;) {
      const auto now = found->take(bucket);
      if (me.sum(now.size()) == 0) break;
      settled.insert(settled.end(), now.begin(), now.end());
      follow(now, true);
    }
    std::sort(settled.begin(), settled.end());
    settled.erase(std::unique(settled.begin(), settled.end()), settled.end());
    follow(settled, false);
  }
}
}  // namespace shunt::apps::lambda_form
