/// Whether a tree is a breadth-first search tree of a graph, by the rules of Graph500. It has no code of the search.
///
///   1  parents lead to the root, in no circle; the root is its own parent
///   2  the levels of a vertex and of its parent differ by one: levels are counted along the tree, so rule 1 says it
///   3  the levels of the ends of each entry differ by one at most
///   4  an entry has both of its ends in the tree, or neither
///   5  a vertex and its parent are the ends of an entry
///
/// Source: Graph 500 benchmark specification, https://graph500.org/?page_id=12, section 8.
#pragma once
#include <bale/transpose_lambda.hpp>
#include <shunt/graph/graph.hpp>
namespace shunt::apps {
/// No vertex.
inline constexpr graph::vertex no_vertex = ~graph::vertex{0};
/// No level.
inline constexpr std::uint32_t no_level = ~std::uint32_t{0};

/// How often each rule is broken.
struct tree_faults {
  std::uint64_t rule_1 = 0, rule_3 = 0, rule_4 = 0, rule_5 = 0;
  std::uint64_t traversed = 0;  ///< entries in the tree's component, double ones too, self-loops not
  [[nodiscard]] bool none() const noexcept { return rule_1 + rule_3 + rule_4 + rule_5 == 0; }
  friend tree_faults operator+(const tree_faults& a, const tree_faults& b) {
    return {a.rule_1 + b.rule_1, a.rule_3 + b.rule_3, a.rule_4 + b.rule_4, a.rule_5 + b.rule_5,
            a.traversed + b.traversed};
  }
};

/// What a PE finds out about its vertices of a tree.
struct tree_levels {
  std::vector<graph::vertex> parents;
  std::vector<std::uint32_t> levels;
  std::vector<std::uint32_t> next;      ///< spots that have just got a level
  std::vector<std::uint8_t> has_entry;  ///< whether an entry joins it with its parent
  tree_faults faults;

  explicit tree_levels(std::vector<graph::vertex> of)
      : parents(std::move(of)), levels(parents.size(), no_level), has_entry(parents.size()) {}
  void put(std::uint32_t spot, std::uint32_t level) {
    if (levels[spot] != no_level) return;
    levels[spot] = level;
    next.push_back(spot);
  }
  void join(std::uint32_t spot, graph::vertex other) noexcept {
    if (parents[spot] == other) has_entry[spot] = 1;
  }
  void compare(std::uint32_t spot, std::uint32_t other) noexcept {
    const auto level = levels[spot];
    if (level == no_level || other == no_level) {
      faults.rule_4 += level != other;
    } else {
      ++faults.traversed;
      faults.rule_3 += level > other + 1 || other > level + 1;
    }
  }
};
}  // namespace shunt::apps
namespace shunt::apps::lambda_form {
/// Collective. Gives each vertex the level that the tree says.
inline void count_levels(pgas::pe& me, std::uint32_t vertices, pgas::symmetric<tree_levels>& tree, graph::vertex root) {
  matrix up(me, vertices, vertices);
  const auto [owner, root_spot] = up.home.where(root);
  for (std::uint32_t l = 0; l < up.count(); ++l) {
    const auto parent = tree->parents[l];
    const bool is_root = owner == me.index() && l == root_spot;
    if (parent >= vertices ? parent != no_vertex || is_root : is_root && parent != root) ++tree->faults.rule_1;
    if (parent < vertices && !is_root) up.columns.push_back(parent);
    up.offsets[l + 1] = up.columns.size();
  }
  const matrix down = transpose(me, up);
  pgas::actor_of actor(tree);
  if (owner == me.index()) tree->put(root_spot, 0);
  for (std::uint32_t level = 1;; ++level) {
    const auto now = std::exchange(tree->next, {});
    if (me.sum(now.size()) == 0) return;
    for (const auto spot : now)
      for (const auto child : down.row(spot)) {
        const auto [pe, there] = down.home.where(child);
        actor.send(pe, [there, level](tree_levels& t) { t.put(there, level); });
      }
    actor.finish();
  }
}
/// Collective. \param parents  of this PE's vertices: no_vertex for those that the search has not reached.
/// \param entries  this PE's share of the input. \return of all PEs
inline tree_faults check_tree(pgas::pe& me, std::uint32_t vertices, std::span<const graph::edge> entries,
                              std::vector<graph::vertex> parents, graph::vertex root) {
  pgas::symmetric<tree_levels> tree(me, std::move(parents));
  count_levels(me, vertices, tree, root);
  const dealt home(me.index(), me.count());
  {
    auto ends = pgas::make_selector<2>(tree);
    for (const auto [a, b] : entries) {
      if (a == b) continue;
      const auto [pe_a, spot_a] = home.where(a);
      const auto [pe_b, spot_b] = home.where(b);
      ends.template send<0>(pe_a, [a, b, spot_a, spot_b, pe_b](tree_levels& t, auto& here) {
        t.join(spot_a, b);
        here.template send<1>(pe_b, [a, spot_b, level = t.levels[spot_a]](tree_levels& other) {
          other.join(spot_b, a), other.compare(spot_b, level);
        });
      });
    }
    ends.finish();
  }
  for (std::uint32_t l = 0; l < tree->parents.size(); ++l) {
    const bool in_tree = tree->parents[l] != no_vertex;
    tree->faults.rule_1 += in_tree && tree->levels[l] == no_level;
    tree->faults.rule_5 += in_tree && tree->has_entry[l] == 0 && home.global(l) != root;
  }
  return me.sum(tree->faults);
}
}  // namespace shunt::apps::lambda_form
