/// Jaccard similarity of the ends of each edge: the neighbours that both have, over those that one of them has.
///
/// Common neighbours make triangles. For every wedge j-l-k, j > k, in row l, the owner of row j is asked whether j-k is
/// an edge; each of the three edges then has one common neighbour more.
#pragma once
#include <bale/rows.hpp>
#include <shunt/pgas.hpp>
namespace shunt::apps {
/// Of each edge in this PE's rows, and of each of its vertices.
struct neighbours {
  std::vector<std::uint32_t> common;        ///< neighbours of both ends
  std::vector<std::uint32_t> degree;        ///< of this PE's vertices
  std::vector<std::uint32_t> other_degree;  ///< of each edge's lower end
  std::uint64_t asked = 0;
  explicit neighbours(const rows& lower)
      : common(lower.columns.size()), degree(lower.count()), other_degree(lower.columns.size()) {}

  /// Similarity of the ends of an edge of vertex `local`, in units of 2^-32: the same on every machine.
  [[nodiscard]] std::uint64_t similarity(std::uint32_t local, std::size_t edge) const noexcept {
    return (std::uint64_t{common[edge]} << 32) / (degree[local] + std::uint64_t{other_degree[edge]} - common[edge]);
  }
};
}  // namespace shunt::apps
namespace shunt::apps::lambda_form {
/// Collective. \param each_row  called with the number of rows done
template <class EachRow>
neighbours jaccard(pgas::pe& me, pgas::symmetric<rows>& lower, EachRow each_row) {
  pgas::symmetric<neighbours> found(me, *lower);
  pgas::actor_of actor(lower, found);
  for (std::uint32_t l = 0; l < lower->count(); ++l) {
    const auto row = lower->row(l);
    found->degree[l] += static_cast<std::uint32_t>(row.size());
    for (const auto j : row)
      actor.send(lower->owner(j), [there = lower->local(j)](rows&, neighbours& n) { ++n.degree[there]; });
  }
  actor.finish();
  for (std::uint32_t l = 0; l < lower->count(); each_row(++l)) {
    const auto row = lower->row(l);
    for (std::size_t j = 0, first = lower->offsets[l]; j < row.size(); ++j) {
      const auto owner = lower->owner(row[j]);
      const auto there = lower->local(row[j]);
      actor.ask(
          owner, [there](rows&, neighbours& n) { return n.degree[there]; },
          [edge = first + j](rows&, neighbours& n, std::uint32_t degree) { n.other_degree[edge] = degree; });
      for (std::size_t k = 0; k < j; ++k)
        actor.ask(
            owner,
            [there, third = row[k]](rows& mine, neighbours& n) {
              const auto edge = mine.find(there, third);
              ++n.asked;
              if (edge != rows::none) ++n.common[edge];
              return edge != rows::none;
            },
            [one = first + j, two = first + k](rows&, neighbours& n, bool triangle) {
              n.common[one] += triangle, n.common[two] += triangle;
            });
    }
  }
  actor.finish();
  return std::move(*found);
}
}  // namespace shunt::apps::lambda_form
