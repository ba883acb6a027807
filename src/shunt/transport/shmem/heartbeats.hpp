/// Heartbeats over OpenSHMEM: each rank counts its own, and puts the count into the memory of its peers.
///
///   rank a: ++sent   --put-->   board::heard[slot of a] of rank b   --look-->   b: another count than the last time
///
/// A count that does not change is silence. Nothing collects at a rank that does not listen: a put takes the place of
/// the one before it.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include <shunt/transport/detail/watching.hpp>
#include <shunt/transport/network/gate.hpp>
#include <shunt/transport/network/heartbeat_port.hpp>
#include <shunt/transport/shmem/board.hpp>

namespace shunt {
inline namespace v1 {
namespace transport {
namespace shmem {

/// Every member belongs to the holder of the gate (gate.G1).
class heartbeats final : public network::heartbeat_port {
 public:
  /// Once.
  /// \param at  in symmetric memory, zero on every rank
  void open(const network::gate::pass& pass, board& at, int rank, int ranks);

  void receive(const network::gate::pass& pass) override;
  void send(const network::gate::pass& pass) override;
  /// A program leaves shmem_finalize to the transport.
  bool is_over(const network::gate::pass&) const noexcept override { return false; }
  std::string_view library() const noexcept override { return "OpenSHMEM"; }

 private:
  /// Of one peer, as peers_ has them.
  struct place {
    std::size_t from = 0;  // where its count stands here
    std::size_t to = 0;    // where this rank's count stands there
    word last = 0;         // seen here
  };

  board* board_ = nullptr;
  int rank_ = 0;
  std::array<place, detail::most_ranks_all_to_all> places_{};
  word sent_ = 0;
};

}  // namespace shmem
}  // namespace transport
}  // namespace v1
}  // namespace shunt
