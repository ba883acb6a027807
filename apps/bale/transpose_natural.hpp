/// Transpose, as one writes it for compressed rows: count, make room, place.
#pragma once
#include <bale/kernel.hpp>
namespace shunt::apps::natural {
/// Collective.
inline matrix transpose(pgas::pe& me, const matrix& a) {
  matrix turned(me, a.width, a.height);
  pgas::array<ordinal> lengths(me, a.width);
  pgas::superstep(me, [&] {
    for (const auto column : a.columns) ++lengths[column];
  });
  std::ranges::copy(lengths.local(), turned.offsets.begin() + 1);
  turned.make_room();
  pgas::array<ordinal*> next(me, a.width);  // of each row: where its next entry goes, on the row's PE
  for (ordinal l = 0; l < turned.count(); ++l) next.local()[l] = turned.columns.data() + turned.offsets[l];
  pgas::superstep(me, [&] {
    for (ordinal l = 0; l < a.count(); ++l)
      for (const auto column : a.row(l)) next[column].update([row = a.home.global(l)](ordinal*& to) { *to++ = row; });
  });
  return turned;
}
}  // namespace shunt::apps::natural
