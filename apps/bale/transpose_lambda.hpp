/// Transpose: every non-zero goes to the owner of its column, which places it once all have come. Published as
/// "transpose" of bale.
#pragma once
#include <bale/kernel.hpp>
namespace shunt::apps::lambda_form {
/// Collective.
inline matrix transpose(pgas::pe& me, const matrix& a) {
  pgas::symmetric<matrix> turned(me, me, a.width, a.height);
  pgas::symmetric<std::vector<entry>> arrived(me);
  arrived->reserve(a.columns.size() + a.columns.size() / 16);
  pgas::actor_of entries(turned, arrived);
  for (std::uint32_t l = 0; l < a.count(); ++l)
    for (const auto column : a.row(l)) {
      const auto [pe, spot] = a.home.where(column);
      entries.send(pe, [e = entry{spot, a.home.global(l)}](matrix& mine, std::vector<entry>& in) {
        ++mine.offsets[e.row + 1], in.push_back(e);
      });
    }
  entries.finish();
  turned->place(*arrived);
  return std::move(*turned);
}
}  // namespace shunt::apps::lambda_form
