/// Transpose: where its column will be a row, each non-zero takes the next place, and is written there once all rows'
/// begins are known. (The published program counts first, and takes places with a second atomic operation: slower.)
#pragma once
#include "shared_matrix.hpp"
namespace bench {
template <class Net>
void transpose(const matrix& a, std::vector<std::int64_t>& places, shared_matrix<Net>& t) {
  std::ranges::fill(t.offsets.mine(), 0);
  places.resize(a.columns.size());
  Net::settle(t.offsets);
  for (std::size_t i = 0; i < places.size(); ++i) {
    const auto [pe, spot] = a.home.where(a.columns[i]);
    t.offsets.fetch_add(&places[i], 1, pe, spot + 1);
  }
  Net::settle(t.offsets);
  t.make_offsets();
  Net::settle(t.offsets);
  std::vector<std::int64_t> begins(Net::batch);
  ordinal l = 0;
  each_batch<Net>(places.size(), [&](std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; ++i) {
      const auto [pe, spot] = a.home.where(a.columns[i]);
      t.offsets.get(&begins[i - first], pe, spot);
    }
    t.offsets.complete();
    for (std::size_t i = first; i < last; ++i) {
      while (i >= a.offsets[l + 1]) ++l;
      const auto place = static_cast<std::size_t>(begins[i - first] + places[i]);
      t.columns.put_value(a.home.global(l), a.home.where(a.columns[i]).pe, place);
    }
  });
  Net::settle(t.columns);
}
}  // namespace bench
