/// Permute a matrix, as one writes it for compressed rows: rename, make room, place.
#pragma once
#include <bale/kernel.hpp>
namespace shunt::apps::natural {
/// Collective. \param r  this PE's part
inline matrix permute_matrix(pgas::pe& me, const matrix& a, const permutation& r, pgas::array<ordinal>& c) {
  matrix moved(me, a.height, a.width);
  permutation renamed(a.columns.size());
  pgas::gather(c, a.columns, renamed);
  pgas::array<ordinal> lengths(me, a.height);
  pgas::superstep(me, [&] {
    for (ordinal l = 0; l < a.count(); ++l) lengths[r[l]] = a.length(l);
  });
  std::ranges::copy(lengths.local(), moved.offsets.begin() + 1);
  moved.make_room();
  pgas::array<ordinal*> next(me, a.height);  // of each row: where its next entry goes, on the row's PE
  for (ordinal l = 0; l < moved.count(); ++l) next.local()[l] = moved.columns.data() + moved.offsets[l];
  pgas::superstep(me, [&] {
    each_piece(a, renamed, most_items(me, 4), [&](ordinal l, ordinal, std::span<const ordinal> names) {
      next[r[l]].update(names, [](ordinal*& to, auto some) { to = std::ranges::copy(some, to).out; });
    });
  });
  return moved;
}
}  // namespace shunt::apps::natural
