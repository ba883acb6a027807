/// The same number of items on each PE.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include <shunt/pgas/actor_of.hpp>
#include <shunt/pgas/symmetric.hpp>

namespace shunt {
inline namespace v1 {
namespace pgas {

namespace detail {

/// `all` items on `pes` PEs, in order: the first all % pes of them have one more.
struct even_blocks {
  std::uint64_t all;
  std::uint64_t pes;

  /// Where the items of a PE begin, 0..pes. \return all for pes
  [[nodiscard]] std::uint64_t begin(std::uint64_t pe) const noexcept {
    return pe * (all / pes) + std::min(pe, all % pes);
  }
  [[nodiscard]] std::uint64_t count(std::uint64_t pe) const noexcept { return begin(pe + 1) - begin(pe); }
  /// The PE of an item, 0..all-1.
  [[nodiscard]] std::uint64_t owner(std::uint64_t item) const noexcept {
    const std::uint64_t less = all / pes, more = all % pes;  // the first `more` PEs have less + 1
    return item < more * (less + 1) ? item / (less + 1) : more + (item - more * (less + 1)) / less;
  }
};

}  // namespace detail

/// Collective. Moves items between PEs until each has as many as the others, or one more: the first ones. Their order,
/// over the PEs and within each, stays.
/// \throws std::bad_alloc; shunt::error for items longer than a train carries.
/// Cost: items that move are copied as bytes, many to a message; the vector is replaced, so both are in memory.
template <plain_value T>
void balance(pe& me, std::vector<T>& items) {
  static_assert(!std::is_same_v<T, bool>, "balance: a std::vector<bool> has no items that could be moved: use char");
  const std::uint64_t before = me.scan(std::uint64_t{items.size()});
  const detail::even_blocks blocks{me.sum(std::uint64_t{items.size()}), static_cast<std::uint64_t>(me.count())};
  const auto mine = static_cast<std::uint64_t>(me.index());

  symmetric<std::vector<T>> target(me, blocks.count(mine));
  actor_of moves(target);
  const std::size_t most = std::max<std::size_t>(1, me.train_bytes() / 2 / sizeof(T));
  for (std::uint64_t i = 0; i != items.size();) {
    const std::uint64_t pe = blocks.owner(before + i);
    const auto spot = static_cast<std::size_t>(before + i - blocks.begin(pe));
    auto piece = std::span<const T>(items).subspan(i);
    piece = piece.first(std::min<std::size_t>(piece.size(), blocks.count(pe) - spot));
    if (pe == mine) {
      std::copy(piece.begin(), piece.end(), target->begin() + static_cast<std::ptrdiff_t>(spot));
    } else if constexpr (payload_item<T>) {
      piece = piece.first(std::min(piece.size(), most));
      moves.send(static_cast<int>(pe), piece, [spot](std::vector<T>& to, std::span<const T> some) {
        std::copy(some.begin(), some.end(), to.begin() + static_cast<std::ptrdiff_t>(spot));
      });
    } else {  // aligned to more than a payload is
      piece = piece.first(1);
      moves.send(static_cast<int>(pe), [spot, item = piece[0]](std::vector<T>& to) { to[spot] = item; });
    }
    i += piece.size();
  }
  moves.finish();
  items.swap(*target);
}

}  // namespace pgas
}  // namespace v1
}  // namespace shunt
