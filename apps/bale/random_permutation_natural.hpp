/// Random permutation, as one writes it: each index joins the list its key names; the lists, sorted, are dealt out.
#pragma once
#include <bale/kernel.hpp>
namespace shunt::apps::natural {
/// Collective. Of 0..total-1; the same for any number of PEs. \return this PE's part
inline permutation random_permutation(pgas::pe& me, std::uint64_t total, std::uint64_t seed) {
  const random_keys keys(me, total, seed);
  pgas::per_pe<permutation> permuted(me, dealt(me.index(), me.count()).count(total));
  pgas::per_pe<std::vector<drawn>> lists(me);
  lists->reserve(permuted->size() + permuted->size() / 16);
  pgas::superstep(me, [&] {
    keys.each([&](int pe, drawn one) { lists[pe].update([one](std::vector<drawn>& mine) { mine.push_back(one); }); });
  });
  keys.sort(*lists);
  const auto first = me.scan(lists->size());
  pgas::superstep(me, [&] {
    deal_out(*lists, first, me.count(), most_items(me, 4), [&](const place& to, std::span<const ordinal> indices) {
      permuted[to.pe].update(indices, [spot = to.spot](permutation& mine, std::span<const ordinal> some) {
        std::ranges::copy(some, mine.begin() + spot);
      });
    });
  });
  return std::move(*permuted);
}
}  // namespace shunt::apps::natural
