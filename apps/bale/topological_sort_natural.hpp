/// Topological sort, as one writes it with a list of rows that are ready. In each level these take their columns in one
/// superstep, and the columns leave all their rows in another one.
#pragma once
#include <bale/kernel.hpp>
namespace shunt::apps::natural {
struct placing {
  order found;
  std::vector<ordinal> taken;  // columns of this PE that a row has taken
};
/// Collective. \param turned  the transpose of `a`. \param each_level  called with the number of rows placed
template <class EachLevel>
order topological_sort(pgas::pe& me, const matrix& a, const matrix& turned, EachLevel each_level) {
  pgas::per_pe<rows_left> left(me, a);
  pgas::per_pe<placing> to(me, placing{order(a), {}});
  for (std::uint64_t placed = 0, more = 0;; placed += more, ++to->found.levels, each_level(placed)) {
    const auto now = left->take();
    more = me.sum(now.size());
    if (more == 0) return std::move(to->found.complete(me));
    auto position = static_cast<ordinal>(a.height - placed - me.scan(now.size()));
    pgas::superstep(me, [&] {
      for (const auto row : now) {
        to->found.rows[row] = --position;
        const auto [pe, spot] = a.home.where(left->only_column(row));
        to[pe].update([spot, position](placing& p) {
          if (p.found.place_column(spot, position)) p.taken.push_back(spot);
        });
      }
    });
    pgas::superstep(me, [&] {
      for (const auto spot : to->taken)
        for (const auto row : turned.row(spot)) {
          const auto [pe, local] = turned.home.where(row);
          left[pe].update([local, column = turned.home.global(spot)](rows_left& rows) { rows.drop(local, column); });
        }
    });
    to->taken.clear();
  }
}
}  // namespace shunt::apps::natural
