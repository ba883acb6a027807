/// Random permutation by darts, as published: every index is thrown at a random one of twice as many slots until it
/// hits a free one; then the slots are squeezed. Which permutation comes out depends on timing.
#pragma once
#include "random_permutation.hpp"
namespace bench {
/// \param board  slots: 0 is free, else an index and 1
template <class Net>
void darts(std::uint64_t total, const shunt::counter_random& random, typename Net::template array<std::int64_t>& board,
           drawing<Net>& in, typename Net::template array<std::uint32_t>& result) {
  const dealt home(Net::me(), Net::pes());
  std::ranges::fill(board.mine(), 0);
  Net::settle(board);
  std::vector<std::int64_t> hand, found(Net::batch);
  for (ordinal s = 0; s < home.count(total); ++s) hand.push_back(home.global(s) + std::int64_t{1});
  const std::uint64_t slots = 2 * total;
  for (std::uint64_t round = 0; !hand.empty(); ++round) {
    std::size_t missed = 0;
    each_batch<Net>(hand.size(), [&](std::size_t first, std::size_t last) {
      for (std::size_t i = first; i < last; ++i) {
        const auto at = random.below(round * total + static_cast<std::uint64_t>(hand[i]), slots);
        const auto [pe, spot] = home.where(static_cast<std::uint32_t>(at));
        board.compare_swap(&found[i - first], 0, hand[i], pe, spot);
      }
      board.complete();
      for (std::size_t i = first; i < last; ++i) {
        if (found[i - first] != 0) hand[missed++] = hand[i];
      }
    });
    hand.resize(missed);
  }
  Net::settle(board);
  std::vector<shunt::apps::drawn> here;
  here.reserve(home.count(total) + home.count(total) / 16);
  for (const auto value : board.mine()) {
    if (value != 0) here.push_back(static_cast<std::uint64_t>(value - 1));
  }
  const auto first = exchange<Net>(in.counts, here.size()).before;
  shunt::apps::deal_out(here, first, Net::pes(), here.size() + 1, [&](const auto& to, auto indices) {
    result.put(indices.data(), to.pe, to.spot, indices.size());
    result.complete();
  });
  Net::settle(result);
}
}  // namespace bench
