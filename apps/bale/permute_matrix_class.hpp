/// Permute a matrix in the class form: a mailbox for lengths of rows, one that renames columns, one for rows.
#pragma once
#include <bale/kernel.hpp>
namespace shunt::apps::class_form {
struct permute_matrix : pgas::selector<permute_matrix, std::array<ordinal, 2>, pgas::asking<ordinal, ordinal, ordinal>,
                                       pgas::varying<ordinal>> {
  void process(std::array<ordinal, 2> row_length) { moved.offsets[row_length[0] + 1] = row_length[1]; }
  ordinal process(ordinal spot) const { return c[spot]; }
  void replied(ordinal i, ordinal name) { renamed[i] = name; }
  void process(std::span<const ordinal> row) {  // which, place in it, columns
    std::copy(row.begin() + 2, row.end(), moved.columns.data() + moved.offsets[row[0]] + row[1]);
  }
  /// Collective. \param r  this PE's part
  matrix run(pgas::pe& me, const matrix& a, const permutation& r) {
    renamed.resize(a.columns.size());
    for (ordinal l = 0; l < a.count(); ++l) {
      const auto [pe, spot] = a.home.where(r[l]);
      send<0>(pe, {spot, a.length(l)});
    }
    for (ordinal i = 0; i < a.columns.size(); ++i) {
      const auto [pe, spot] = a.home.where(a.columns[i]);
      ask<1>(pe, spot, i);
    }
    finish();
    moved.make_room();
    each_piece(a, renamed, most_items(me, 4) - 2, [&](ordinal l, ordinal at, std::span<const ordinal> piece) {
      const auto [pe, spot] = a.home.where(r[l]);
      send<2>(pe, {spot, at}, piece);
    });
    finish();
    return std::move(moved);
  }
  const permutation& c;
  matrix moved;
  permutation renamed{};
};
}  // namespace shunt::apps::class_form
