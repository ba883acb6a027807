/// Transpose, as one writes it with a matrix on each PE: every non-zero goes to its column's PE, which places them all.
#pragma once
#include <bale/kernel.hpp>
namespace shunt::apps::natural {
struct turning {
  matrix turned;
  std::vector<entry> arrived;
};
/// Collective.
inline matrix transpose(pgas::pe& me, const matrix& a) {
  pgas::per_pe<turning> there(me, turning{matrix(me, a.width, a.height), {}});
  there->arrived.reserve(a.columns.size() + a.columns.size() / 16);
  pgas::superstep(me, [&] {
    for (ordinal l = 0; l < a.count(); ++l)
      for (const auto column : a.row(l)) {
        const auto [pe, spot] = a.home.where(column);
        there[pe].update([e = entry{spot, a.home.global(l)}](turning& mine) {
          ++mine.turned.offsets[e.row + 1], mine.arrived.push_back(e);
        });
      }
  });
  there->turned.place(there->arrived);
  return std::move(there->turned);
}
}  // namespace shunt::apps::natural
