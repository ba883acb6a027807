/// Random permutation by darts, as published: every index is thrown at a random one of twice as many slots; the slot's
/// owner answers whether it was free; what missed is thrown again, until nothing has missed. Then the slots are
/// squeezed. Which permutation comes out depends on timing, so this is a program of the table, and no application.
///
/// Source: "randperm" of bale, as selectors by Paul, Hayashi, Chen, Sarkar, arXiv:2107.05516.
#pragma once
#include <bale/kernel.hpp>
#include <shunt/base/random.hpp>
namespace bench {
/// Collective. \return this PE's part
inline shunt::apps::permutation darts(shunt::pgas::pe& me, std::uint64_t total, const shunt::counter_random& random) {
  using namespace shunt;
  using apps::ordinal;
  using list = std::vector<ordinal>;
  const apps::dealt home(me.index(), me.count());
  pgas::symmetric<list> board(me, home.count(2 * total)), missed(me), result(me, home.count(total));
  pgas::actor_of thrower(board, missed, result);
  list hand;
  for (ordinal s = 0; s < home.count(total); ++s) hand.push_back(home.global(s) + 1);  // 0 is a free slot
  for (std::uint64_t round = 0; me.sum(hand.size()) != 0; ++round) {
    for (const auto dart : hand) {
      const auto [pe, spot] = home.where(static_cast<ordinal>(random.below(round * total + dart, 2 * total)));
      thrower.ask(
          pe,
          [spot, dart](list& slots, auto&, auto&) {
            const bool hit = slots[spot] == 0;
            if (hit) slots[spot] = dart;
            return hit;
          },
          [dart](auto&, list& again, auto&, bool hit) {
            if (!hit) again.push_back(dart);
          });
    }
    thrower.finish();
    hand = std::exchange(*missed, {});
  }
  std::vector<apps::drawn> here;
  here.reserve(result->size() + result->size() / 16);
  for (const auto dart : *board) {
    if (dart != 0) here.push_back(dart - 1);
  }
  apps::deal_out(here, me.scan(here.size()), me.count(), apps::most_items(me, 4), [&](const auto& to, auto indices) {
    thrower.send(to.pe, indices, [spot = to.spot](auto&, auto&, list& mine, std::span<const ordinal> some) {
      std::copy(some.begin(), some.end(), mine.begin() + spot);
    });
  });
  thrower.finish();
  return std::move(*result);
}
}  // namespace bench
