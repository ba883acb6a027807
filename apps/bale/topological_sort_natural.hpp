/// Topological sort, as one writes it with a list of rows that are ready. In each level these take their columns in one
/// superstep, and the columns leave all their rows in another one.
#pragma once
#include <bale/kernel.hpp>
namespace shunt::apps::natural {
struct row_left {
  ordinal number, all;            // of its columns: how many are left, and their exclusive or
  std::vector<row_left*>* ready;  // rows of this PE that have one
};
struct column_place {
  ordinal position;
  std::vector<column_place*>* taken;  // columns of this PE that a row has taken
};
/// Collective. \param turned  the transpose of `a`. \param each_level  called with the number of rows placed
template <class EachLevel>
order topological_sort(pgas::pe& me, const matrix& a, const matrix& turned, EachLevel each_level) {
  order found(a);
  std::vector<row_left*> ready;
  std::vector<column_place*> taken;
  pgas::array<column_place> columns(me, a.width, {order::none, &taken});
  pgas::array<row_left> rows(me, a.height, {0, 0, &ready});
  for (ordinal l = 0; auto& row : rows.local()) {
    for (const auto column : a.row(l++)) ++row.number, row.all ^= column;
    if (row.number == 1) ready.push_back(&row);
  }
  for (std::uint64_t placed = 0, more = 0;; placed += more, ++found.levels, each_level(placed)) {
    auto now = std::exchange(ready, {});
    std::erase_if(now, [](row_left* row) { return row->number != 1; });  // it lost its last two at once
    more = me.sum(now.size());
    if (more == 0) break;
    auto position = static_cast<ordinal>(a.height - placed - me.scan(now.size()));
    pgas::superstep(me, [&] {
      for (const row_left* row : now) {
        found.rows[static_cast<std::size_t>(row - rows.local().data())] = --position;
        columns[row->all].update([position](column_place& c) {
          if (c.position == order::none) c.position = position, c.taken->push_back(&c);
        });
      }
    });
    pgas::superstep(me, [&] {
      for (const column_place* column : taken) {
        const auto spot = static_cast<ordinal>(column - columns.local().data());
        for (const auto row : turned.row(spot))
          rows[row].update([out = turned.home.global(spot)](row_left& r) {
            r.all ^= out;
            if (--r.number == 1) r.ready->push_back(&r);
          });
      }
    });
    taken.clear();
  }
  std::ranges::transform(columns.local(), found.columns.begin(), &column_place::position);
  return std::move(found.complete(me));
}
}  // namespace shunt::apps::natural
