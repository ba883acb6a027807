/// Random permutation, as one writes it: each index joins the list that its key names; the lists, sorted, are the
/// permutation.
#pragma once
#include <bale/kernel.hpp>
namespace shunt::apps::natural {
/// Collective. Of 0..total-1; the same for any number of PEs. \return this PE's part
inline permutation random_permutation(pgas::pe& me, std::uint64_t total, std::uint64_t seed) {
  const random_keys keys(me, total, seed);
  pgas::array<ordinal> permuted(me, total);
  std::vector<drawn> mine;
  mine.reserve(permuted.local().size() + permuted.local().size() / 16);
  pgas::array<std::vector<drawn>*> lists(me, static_cast<std::uint64_t>(me.count()), &mine);  // PE i has list i
  pgas::superstep(me, [&] {
    keys.each([&](int list, drawn one) { lists[list].update([one](std::vector<drawn>* to) { to->push_back(one); }); });
  });
  keys.sort(mine);
  permutation indices(mine.size());
  std::ranges::transform(mine, indices.begin(), [](drawn one) { return static_cast<ordinal>(one); });
  const auto first = me.scan(indices.size());
  pgas::superstep(me, [&] { permuted.put(first, indices); });
  return {permuted.local().begin(), permuted.local().end()};
}
}  // namespace shunt::apps::natural
