/// Permute a matrix: lengths of rows go to the new owners, new names of columns are read where they are, and each row
/// is then written as a whole.
#pragma once
#include "shared_matrix.hpp"
namespace bench {
template <class Net>
void permute_matrix(const matrix& a, const permutation& r, typename Net::template array<std::uint32_t>& c,
                    permutation& renamed, shared_matrix<Net>& moved) {
  renamed.resize(a.columns.size());
  for (ordinal l = 0; l < a.count(); ++l) {
    const auto [pe, spot] = a.home.where(r[l]);
    moved.offsets.put_value(a.length(l), pe, spot + 1);
  }
  for (std::size_t i = 0; i < renamed.size(); ++i) {
    const auto [pe, spot] = a.home.where(a.columns[i]);
    c.get(&renamed[i], pe, spot);
  }
  c.complete();
  Net::settle(moved.offsets);
  moved.make_offsets();
  Net::settle(moved.offsets);
  std::vector<std::int64_t> places(Net::batch);
  each_batch<Net>(a.count(), [&](std::size_t first, std::size_t last) {
    for (std::size_t l = first; l < last; ++l) {
      const auto [pe, spot] = a.home.where(r[l]);
      moved.offsets.get(&places[l - first], pe, spot);
    }
    moved.offsets.complete();
    for (std::size_t l = first; l < last; ++l) {
      const auto row = a.in_row(static_cast<ordinal>(l), renamed);
      moved.columns.put(row.data(), a.home.where(r[l]).pe, static_cast<std::size_t>(places[l - first]), row.size());
    }
  });
  Net::settle(moved.columns);
}
}  // namespace bench
