/// Topological sort in the class form: two mailboxes.
#pragma once
#include <bale/kernel.hpp>
namespace shunt::apps::class_form {
struct placed_column {
  std::uint32_t spot, position;
};
struct dropped_column {
  std::uint32_t row, column;
};
struct topological_sort : pgas::selector<topological_sort, placed_column, dropped_column> {
  void process(placed_column c) {
    if (!found.place_column(c.spot, c.position)) return;
    for (const auto its_row : turned.row(c.spot)) {
      const auto [owner, local] = turned.home.where(its_row);
      send<1>(owner, {local, turned.home.global(c.spot)});
    }
  }
  void process(dropped_column d) { left.drop(d.row, d.column); }
  /// Collective. \param each_level  called with the number of rows placed
  template <class EachLevel>
  order run(pgas::pe& me, const matrix& a, EachLevel each_level) {
    for (std::uint64_t placed = 0, more = 0;; placed += more, ++found.levels, each_level(placed)) {
      const auto now = left.take();
      more = me.sum(now.size());
      if (more == 0) return std::move(found.complete(me));
      auto position = static_cast<std::uint32_t>(a.height - placed - me.scan(now.size()));
      for (const auto row : now) {
        found.rows[row] = --position;
        const auto [pe, spot] = a.home.where(left.only_column(row));
        send<0>(pe, {spot, position});
      }
      finish();
    }
  }
  const matrix& turned;  // the transpose of the matrix that is sorted
  rows_left left;
  order found;
};
}  // namespace shunt::apps::class_form
