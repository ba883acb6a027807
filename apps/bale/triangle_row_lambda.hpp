/// Triangles, a message a non-zero: for each j of row l, the owner of row j is sent the columns of row l that are below
/// j, and looks for all of them.
#pragma once
#include <bale/kernel.hpp>
namespace shunt::apps::lambda_form {
/// Collective. \param each_row  called with the number of rows done. \return what this PE was asked and found.
template <class EachRow>
tally triangle_by_row(pgas::pe& me, pgas::symmetric<rows>& lower, EachRow each_row) {
  pgas::symmetric<tally> result(me);
  pgas::actor_of prefixes(lower, result);
  for (std::uint32_t l = 0; l < lower->count(); each_row(++l)) {
    const auto row = lower->row(l);
    for (std::size_t at = 1; at < row.size(); ++at) {
      in_pieces(row.first(at), most_items(me, 4), [&](std::uint32_t, std::span<const vertex> piece) {
        prefixes.send(lower->owner(row[at]), piece,
                      [local = lower->local(row[at])](rows& mine, tally& t, std::span<const vertex> columns) {
                        t.asked += columns.size(), t.found += mine.has_of(local, columns);
                      });
      });
    }
  }
  prefixes.finish();
  return *result;
}
}  // namespace shunt::apps::lambda_form
