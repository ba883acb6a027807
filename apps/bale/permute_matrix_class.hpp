/// Permute a matrix in the class form: three mailboxes.
#pragma once
#include <bale/kernel.hpp>
namespace shunt::apps::class_form {
struct row_length {
  std::uint32_t row, length;
};
struct permute_matrix
    : pgas::selector<permute_matrix, row_length, pgas::asking<std::uint32_t, std::uint32_t, std::uint32_t>,
                     pgas::varying<std::uint32_t>> {
  void process(row_length r) { moved.offsets[r.row + 1] = r.length; }
  std::uint32_t process(std::uint32_t spot) const { return c[spot]; }
  void replied(std::uint32_t i, std::uint32_t name) { renamed[i] = name; }
  void process(std::span<const std::uint32_t> piece) {  // row, place in the row, columns
    std::copy(piece.begin() + 2, piece.end(), moved.columns.data() + moved.offsets[piece[0]] + piece[1]);
  }
  /// Collective. \param r  this PE's part
  matrix run(pgas::pe& me, const matrix& a, const permutation& r) {
    renamed.resize(a.columns.size());
    for (std::uint32_t l = 0; l < a.count(); ++l) {
      const auto [pe, spot] = a.home.where(r[l]);
      send<0>(pe, {spot, static_cast<std::uint32_t>(a.row(l).size())});
    }
    for (std::uint32_t i = 0; i < a.columns.size(); ++i) {
      const auto [pe, spot] = a.home.where(a.columns[i]);
      ask<1>(pe, spot, i);
    }
    finish();
    moved.make_room();
    for (std::uint32_t l = 0; l < a.count(); ++l) {
      const auto [pe, spot] = a.home.where(r[l]);
      in_pieces(a.in_row(l, renamed), most_items(me, 4) - 2,
                [&](std::uint32_t at, std::span<const std::uint32_t> piece) {
                  permutation message{spot, at};
                  message.insert(message.end(), piece.begin(), piece.end());
                  send<2>(pe, std::span<const std::uint32_t>(message));
                });
    }
    finish();
    return std::move(moved);
  }
  const permutation& c;
  matrix moved;
  permutation renamed{};
};
}  // namespace shunt::apps::class_form
