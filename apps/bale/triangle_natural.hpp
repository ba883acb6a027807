/// Triangles, as one writes the three loops: for j and k < j of each row, is k in row j?
#pragma once
#include <bale/kernel.hpp>
namespace shunt::apps::natural {
struct counting_row {
  std::span<const vertex> columns;
  tally result;
};
/// Collective. \param each_row  called with the number of rows done. \return what this PE was asked and found.
template <class EachRow>
tally triangle(pgas::pe& me, const rows& lower, EachRow each_row) {
  pgas::array<counting_row> all(me, me.sum(std::uint64_t{lower.count()}));
  for (std::uint32_t l = 0; l < lower.count(); ++l) all.local()[l].columns = lower.row(l);
  pgas::superstep(me, [&] {
    for (std::uint32_t l = 0; l < lower.count(); each_row(++l)) {
      const auto row = lower.row(l);
      for (auto j = row.begin(); j != row.end(); ++j) {
        const auto row_j = all[*j];
        for (auto k = row.begin(); k != j; ++k)
          row_j.update([k = *k](counting_row& r) { ++r.result.asked, r.result.found += is_in(r.columns, k); });
      }
    }
  });
  tally sum;
  for (const auto& row : all.local()) sum += row.result;
  return sum;
}
}  // namespace shunt::apps::natural
