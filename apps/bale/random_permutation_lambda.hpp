/// Random permutation: each index goes to the PE that its key names, is sorted there, and is dealt out again. Published
/// as "randperm" of bale, with another algorithm: permutation.hpp.
#pragma once
#include <bale/kernel.hpp>
namespace shunt::apps::lambda_form {
/// Collective. Of 0..total-1; the same for any number of PEs. \return this PE's part
inline permutation random_permutation(pgas::pe& me, std::uint64_t total, std::uint64_t seed) {
  const random_keys keys(me, total, seed);
  pgas::symmetric<std::vector<drawn>> here(me);
  pgas::symmetric<permutation> dealt_out(me, dealt(me.index(), me.count()).count(total));
  here->reserve(dealt_out->size() + dealt_out->size() / 16);
  pgas::actor_of dealer(here, dealt_out);
  keys.each([&](int pe, drawn one) {
    dealer.send(pe, [one](std::vector<drawn>& mine, permutation&) { mine.push_back(one); });
  });
  dealer.finish();
  keys.sort(*here);
  deal_out(*here, me.scan(here->size()), me.count(), most_items(me, 4), [&](const place& to, auto indices) {
    dealer.send(to.pe, indices, [spot = to.spot](auto&, permutation& mine, std::span<const std::uint32_t> some) {
      std::copy(some.begin(), some.end(), mine.begin() + spot);
    });
  });
  dealer.finish();
  return std::move(*dealt_out);
}
}  // namespace shunt::apps::lambda_form
