/// Triangles: for every wedge j-l-k, j > k, in row l, the owner of row j is asked whether j-k is an edge.
#pragma once
#include <bale/kernel.hpp>
namespace shunt::apps::lambda_form {
/// Collective. \param each_row  called with the number of rows done. \return what this PE was asked and found.
template <class EachRow>
tally triangle(pgas::pe& me, pgas::symmetric<rows>& lower, EachRow each_row) {
  pgas::symmetric<tally> result(me);
  pgas::actor_of wedges(lower, result);
  for (std::uint32_t l = 0; l < lower->count(); each_row(++l)) {
    const auto row = lower->row(l);
    for (auto j = row.begin(); j != row.end(); ++j) {
      const auto owner = lower->owner(*j);
      const auto local = lower->local(*j);
      for (auto k = row.begin(); k != j; ++k)
        wedges.send(owner, [local, k = *k](rows& mine, tally& t) { ++t.asked, t.found += mine.has(local, k); });
    }
  }
  wedges.finish();
  return *result;
}
}  // namespace shunt::apps::lambda_form
