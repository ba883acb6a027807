/// Connected components: each vertex gets the least number of a vertex in its component.
///
/// Vertices point at others of their component with lower numbers; the components are the trees of these pointers. A
/// round hooks trees onto those of neighbours, and halves the depth of each tree.
///
/// Source: Zhang, Azad, Buluc: FastSV: a distributed-memory connected component algorithm with fast convergence. SIAM
/// PP 2020, doi:10.1137/1.9781611976137.5. What has not changed is not sent again: ours.
#pragma once
#include <bale/matrix.hpp>
#include <graph/adjacency.hpp>
namespace shunt::apps {
/// What is known of this PE's vertices.
struct forest {
  std::vector<graph::vertex> parent;
  std::vector<graph::vertex> grandparent;
  std::vector<graph::vertex> least;  ///< of the neighbours' grandparents
  explicit forest(const adjacency& a) {
    for (std::uint32_t l = 0; l < a.count(); ++l) parent.push_back(a.at.vertex_of_row(l));
    grandparent = least = parent;
  }
  void hook(std::uint32_t row, graph::vertex under) noexcept { parent[row] = std::min(parent[row], under); }
};
}  // namespace shunt::apps
namespace shunt::apps::lambda_form {
/// Collective. \param each_round  called after each round. \return of this PE's vertices, the least of their component
template <class EachRound>
std::vector<graph::vertex> components(pgas::pe& me, const adjacency& a, EachRound each_round) {
  pgas::symmetric<forest> trees(me, a);
  pgas::actor_of actor(trees);
  const dealt home(me.index(), me.count());
  std::vector<std::uint8_t> changed(a.count(), 1);
  for (std::uint64_t more = 1; more != 0; each_round()) {
    for (std::uint32_t l = 0; l < a.count(); ++l) {
      if (changed[l] == 0) continue;
      for (const auto neighbour : a.row(l))
        actor.send(a.at.owner(neighbour), [to = a.at.row(neighbour), mine = trees->grandparent[l]](forest& t) {
          t.least[to] = std::min(t.least[to], mine);
        });
    }
    actor.finish();
    const auto parents = trees->parent;  // while others hook
    me.barrier();
    for (std::uint32_t l = 0; l < a.count(); ++l) {
      const auto under = std::min(trees->least[l], trees->grandparent[l]);
      trees->hook(l, under);
      const auto [pe, row] = home.where(parents[l]);
      if (under < parents[l]) actor.send(pe, [row, under](forest& t) { t.hook(row, under); });
    }
    actor.finish();
    const auto before = trees->grandparent;
    for (std::uint32_t l = 0; l < a.count(); ++l) {
      const auto [pe, row] = home.where(trees->parent[l]);
      actor.ask(
          pe, [row](forest& t) { return t.parent[row]; },
          [l](forest& t, graph::vertex found) { t.grandparent[l] = found; });
    }
    actor.finish();
    more = 0;
    for (std::uint32_t l = 0; l < a.count(); ++l) more += changed[l] = trees->grandparent[l] != before[l];
    more = me.sum(more);
  }
  return std::move(trees->parent);
}
}  // namespace shunt::apps::lambda_form
