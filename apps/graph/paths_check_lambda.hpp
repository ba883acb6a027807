/// Whether distances are those of shortest paths, by rules like those of Graph500. It shares nothing with the search.
///
///   1  parents lead to the root, in no circle; the root is its own parent, at distance 0
///   2  no entry makes the way to one of its ends shorter
///   3  an entry has both of its ends reached, or neither
///   4  an entry joins each vertex with its parent, and is as long as they are apart
#pragma once
#include <graph/tree_check_lambda.hpp>
#include <graph/weighted.hpp>
namespace shunt::apps {
/// How often each rule is broken.
struct path_faults {
  std::uint64_t rule_1 = 0, rule_2 = 0, rule_3 = 0, rule_4 = 0;
  std::uint64_t traversed = 0;  ///< entries in the component, double ones too, self-loops not
  [[nodiscard]] bool none() const noexcept { return rule_1 + rule_2 + rule_3 + rule_4 == 0; }
  friend path_faults operator+(const path_faults& a, const path_faults& b) {
    return {a.rule_1 + b.rule_1, a.rule_2 + b.rule_2, a.rule_3 + b.rule_3, a.rule_4 + b.rule_4,
            a.traversed + b.traversed};
  }
};

/// What a PE finds out about paths to its vertices.
struct path_ends {
  std::vector<graph::vertex> parents;
  std::vector<float> distances;
  std::vector<std::uint8_t> has_entry;
  path_faults faults;
  path_ends(std::vector<graph::vertex> of, std::vector<float> lengths)
      : parents(std::move(of)), distances(std::move(lengths)), has_entry(parents.size()) {}
  /// The way to this vertex over an entry from `from`, which is `length` away from the root.
  void compare(std::uint32_t spot, graph::vertex from, float length, float weight) noexcept {
    const float mine = distances[spot];
    faults.rule_3 += (mine == unreachable) != (length == unreachable);
    faults.rule_2 += length + weight < mine;
    if (parents[spot] == from && length + weight == mine) has_entry[spot] = 1;
  }
};
}  // namespace shunt::apps
namespace shunt::apps::lambda_form {
/// Collective. \param entries  this PE's, of which the first is entry `first` of the input
/// \param parents, distances  of this PE's vertices. \return of all PEs
inline path_faults check_paths(pgas::pe& me, std::uint32_t vertices, std::uint64_t first,
                               std::span<const graph::edge> entries, const entry_weights& weights,
                               const std::vector<graph::vertex>& parents, const std::vector<float>& distances,
                               graph::vertex root) {
  pgas::symmetric<tree_levels> tree(me, parents);
  count_levels(me, vertices, tree, root);
  pgas::symmetric<path_ends> ends(me, parents, distances);
  // Each entry in both directions, one after the other: a handler that sends on is the last but one of its chain.
  const dealt home(me.index(), me.count());
  auto sides = pgas::make_selector<2>(ends);
  for (const bool back : {false, true}) {
    for (std::size_t i = 0; i < entries.size(); ++i) {
      const auto [from, to] = back ? graph::edge{entries[i].b, entries[i].a} : entries[i];
      if (from == to) continue;
      const auto [pe_from, spot_from] = home.where(from);
      const auto [pe_to, spot_to] = home.where(to);
      sides.template send<0>(pe_from,
                             [from, spot_from, spot_to, pe_to, weight = weights[first + i]](path_ends& e, auto& here) {
                               const float length = e.distances[spot_from];
                               e.faults.traversed += length != unreachable;
                               here.template send<1>(pe_to, [from, spot_to, weight, length](path_ends& other) {
                                 other.compare(spot_to, from, length, weight);
                               });
                             });
    }
    sides.finish();
  }
  for (std::uint32_t l = 0; l < parents.size(); ++l) {
    const bool reached = distances[l] != unreachable, is_root = home.global(l) == root;
    ends->faults.rule_1 += reached != (tree->levels[l] != no_level) || (is_root && distances[l] != 0);
    ends->faults.rule_4 += reached && !is_root && ends->has_entry[l] == 0;
  }
  ends->faults.rule_1 += tree->faults.rule_1;
  auto all = me.sum(ends->faults);
  all.traversed /= 2;  // each was looked at from both of its ends
  return all;
}
}  // namespace shunt::apps::lambda_form
