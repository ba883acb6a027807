/// Permute a matrix: row i goes to row r[i], column j to column c[j]. Published as "permute_matrix" of bale.
///
/// First the new owners learn how long their rows are, while columns are renamed where they are; then each row travels
/// as one message.
#pragma once
#include <bale/kernel.hpp>
namespace shunt::apps::lambda_form {
/// Collective. \param r  this PE's part
inline matrix permute_matrix(pgas::pe& me, const matrix& a, const permutation& r, pgas::symmetric<permutation>& c) {
  pgas::symmetric<matrix> moved(me, me, a.height, a.width);
  pgas::symmetric<permutation> renamed(me, a.columns.size());
  pgas::actor_of mover(moved, renamed, c);
  for (ordinal l = 0; l < a.count(); ++l) {
    const auto [pe, spot] = a.home.where(r[l]);
    mover.send(pe, [spot, n = a.length(l)](matrix& mine, auto&, auto&) { mine.offsets[spot + 1] = n; });
  }
  for (ordinal i = 0; i < a.columns.size(); ++i) {
    const auto [pe, spot] = a.home.where(a.columns[i]);
    mover.ask(
        pe, [spot](auto&, auto&, permutation& names) { return names[spot]; },
        [i](auto&, permutation& mine, auto&, ordinal name) { mine[i] = name; });
  }
  mover.finish();
  moved->make_room();
  each_piece(a, *renamed, most_items(me, 4), [&](ordinal l, ordinal at, std::span<const ordinal> piece) {
    const auto [pe, spot] = a.home.where(r[l]);
    mover.send(pe, piece, [spot, at](matrix& mine, auto&, auto&, std::span<const ordinal> columns) {
      std::copy(columns.begin(), columns.end(), mine.columns.data() + mine.offsets[spot] + at);
    });
  });
  mover.finish();
  return std::move(*moved);
}
}  // namespace shunt::apps::lambda_form
