/// Random permutation in the class form: two mailboxes.
#pragma once
#include <bale/kernel.hpp>
namespace shunt::apps::class_form {
struct random_permutation : pgas::selector<random_permutation, drawn, pgas::varying<std::uint32_t>> {
  void process(drawn one) { here.push_back(one); }
  void process(std::span<const std::uint32_t> some) {  // first spot, indices
    std::copy(some.begin() + 1, some.end(), dealt_out.begin() + some.front());
  }
  /// Collective. Of 0..total-1; the same for any number of PEs. \return this PE's part
  permutation run(pgas::pe& me, std::uint64_t total, std::uint64_t seed) {
    const random_keys keys(me, total, seed);
    dealt_out.resize(dealt(me.index(), me.count()).count(total));
    here.reserve(dealt_out.size() + dealt_out.size() / 16);
    keys.each([&](int pe, drawn one) { send<0>(pe, one); });
    finish();
    keys.sort(here);
    deal_out(here, me.scan(here.size()), me.count(), most_items(me, 4) - 1,
             [&](const place& to, auto indices) { send<1>(to.pe, {to.spot}, indices); });
    finish();
    return std::move(dealt_out);
  }
  std::vector<drawn> here{};
  permutation dealt_out{};
};
}  // namespace shunt::apps::class_form
