/// Triangles, as one writes two loops: for j of each row, how many of the row's k < j are in row j?
#pragma once
#include <bale/triangle_natural.hpp>
namespace shunt::apps::natural {
/// Collective. \param each_row  called with the number of rows done. \return what this PE was asked and found.
template <class EachRow>
tally triangle_by_row(pgas::pe& me, const rows& lower, EachRow each_row) {
  pgas::array<std::span<const vertex>> all(me, me.sum(std::uint64_t{lower.count()}));
  for (std::uint32_t l = 0; l < lower.count(); ++l) all.local()[l] = lower.row(l);
  pgas::symmetric<tally> result(me);
  pgas::superstep(me, [&] {
    for (std::uint32_t l = 0; l < lower.count(); each_row(++l)) {
      const auto row = lower.row(l);
      for (std::size_t at = 1; at < row.size(); ++at)
        in_pieces(row.first(at), most_items(me, 4), [&](std::uint32_t, std::span<const vertex> piece) {
          all[row[at]].update(piece, [sum = result.local()](auto& columns, std::span<const vertex> below) {
            *sum += {below.size(), in_common(columns, below)};
          });
        });
    }
  });
  return *result;
}
}  // namespace shunt::apps::natural
