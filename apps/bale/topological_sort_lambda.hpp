/// Topological sort: an order of the rows and one of the columns that make a matrix upper triangular. Published as
/// "toposort" of bale.
///
/// A row with one column left is placed, with that column, before all that are placed already; the column's other rows
/// then have one column less. Each level places all rows that can be placed, in one superstep: columns hear of it in
/// mailbox 0, and their rows in mailbox 1.
#pragma once
#include <bale/kernel.hpp>
namespace shunt::apps::lambda_form {
/// Collective. \param turned  the transpose of `a`. \param each_level  called with the number of rows placed
template <class EachLevel>
order topological_sort(pgas::pe& me, const matrix& a, pgas::symmetric<matrix>& turned, EachLevel each_level) {
  pgas::symmetric<rows_left> left(me, a);
  pgas::symmetric<order> found(me, a);
  auto sorter = pgas::make_selector<2>(turned, left, found);
  for (std::uint64_t placed = 0, more = 0;; placed += more, ++found->levels, each_level(placed)) {
    const auto now = left->take();
    more = me.sum(now.size());
    if (more == 0) return std::move(found->complete(me));
    auto position = static_cast<std::uint32_t>(a.height - placed - me.scan(now.size()));
    for (const auto row : now) {
      found->rows[row] = --position;
      const auto [pe, spot] = a.home.where(left->only_column(row));
      sorter.template send<0>(pe, [spot, position](matrix& t, auto&, order& o, auto& here) {
        if (!o.place_column(spot, position)) return;
        for (const auto its_row : t.row(spot)) {
          const auto [owner, local] = t.home.where(its_row);
          here.template send<1>(owner, [local, column = t.home.global(spot)](auto&, rows_left& rows, auto&) {
            rows.drop(local, column);
          });
        }
      });
    }
    sorter.finish();
  }
}
}  // namespace shunt::apps::lambda_form
