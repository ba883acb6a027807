/// Random permutation, as one writes it: each index joins the list that its key names; the lists, sorted, are the
/// permutation.
#pragma once
#include <bale/kernel.hpp>
namespace shunt::apps::natural {
/// Collective. Of 0..total-1; the same for any number of PEs. \return this PE's part
inline permutation random_permutation(pgas::pe& me, std::uint64_t total, std::uint64_t seed) {
  const random_keys keys(me, total, seed);
  pgas::array<ordinal> permuted(me, total);
  pgas::per_pe<std::vector<drawn>> lists(me);
  lists->reserve(permuted.local().size() + permuted.local().size() / 16);
  pgas::superstep(me, [&] {
    keys.each([&](int pe, drawn one) { lists[pe].update([one](std::vector<drawn>& mine) { mine.push_back(one); }); });
  });
  keys.sort(*lists);
  permutation indices(lists->size());
  std::ranges::transform(*lists, indices.begin(), [](drawn one) { return static_cast<ordinal>(one); });
  const auto first = me.scan(indices.size());
  pgas::superstep(me, [&] { permuted.put(first, indices); });
  return {permuted.local().begin(), permuted.local().end()};
}
}  // namespace shunt::apps::natural
