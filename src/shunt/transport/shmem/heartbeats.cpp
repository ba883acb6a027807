#include <shunt/transport/shmem/heartbeats.hpp>

#include <chrono>

#include <shunt/transport/detail/watching.hpp>

namespace shunt {
inline namespace v1 {
namespace transport {
namespace shmem {

/// All to all, a rank's count stands at its number. In a ring the count of the rank before stands first, and that of
/// the next one second.
void heartbeats::open(const network::gate::pass&, board& at, int rank, int ranks) {
  board_ = &at;
  rank_ = rank;
  const auto others = detail::peers_of(rank, ranks);
  peers_.assign(others.size(), {});
  const bool all = ranks <= detail::most_ranks_all_to_all;
  for (std::size_t i = 0; i < others.size(); ++i) {
    peers_[i].rank = others[i];
    places_[i] = all ? place{static_cast<std::size_t>(others[i]), static_cast<std::size_t>(rank)} : place{1 - i, i};
  }
}

void heartbeats::receive(const network::gate::pass&) {
  // Twice: one call in two lets it work.
  for (int i = 0; i < 2; ++i) let_library_work(*board_, rank_);
  for (std::size_t i = 0; i < peers_.size(); ++i) {
    auto& p = places_[i];
    const word heard = look(board_->heard[p.from]);
    if (heard == p.last) continue;
    p.last = heard;
    peers_[i].silent = std::chrono::nanoseconds(0);
  }
}

void heartbeats::send(const network::gate::pass&) {
  ++sent_;
  for (std::size_t i = 0; i < peers_.size(); ++i) shmem_ulong_p(&board_->heard[places_[i].to], sent_, peers_[i].rank);
}

}  // namespace shmem
}  // namespace transport
}  // namespace v1
}  // namespace shunt
