/// Heartbeats: words of one byte that ranks send each other to say that they live.
///
///   `alive`     at each beat, to every peer that has taken the one before it
///   `goodbye`   the last one: the peer sends no further word
///
/// Up to 8 ranks all send to all; in larger jobs each rank has two peers, those beside it in a ring. A word is a
/// persistent synchronous send, so a rank that does not listen collects one word of a peer, not thousands.
#pragma once

#include <mpi.h>

#include <vector>

#include <shunt/transport/mpi/gate.hpp>
#include <shunt/transport/mpi/peer.hpp>

namespace shunt {
inline namespace v1 {
namespace transport {
namespace mpi {

/// Every member belongs to the holder of the gate (mpi.M1).
class heartbeats {
 public:
  /// Makes the requests, and starts to listen.
  /// \param among  a communicator on which nothing else is sent from rank to rank
  /// \throws shunt::error if MPI fails, as all functions here
  void open(const gate::pass& pass, MPI_Comm among, int rank, int ranks);

  /// Takes the words that have come: their peers are no longer silent.
  void receive(const gate::pass& pass);
  /// Says `alive` to every peer that has taken the last word; nothing after a goodbye.
  void send(const gate::pass& pass) { send(pass, alive); }
  /// Goes on with the goodbyes. \return true: every peer has said goodbye, and has taken this rank's.
  [[nodiscard]] bool say_goodbye(const gate::pass& pass);
  /// Frees the requests. After the goodbyes.
  void close(const gate::pass& pass);

  /// All ranks but this one.
  [[nodiscard]] std::vector<peer>& peers(const gate::pass&) noexcept { return peers_; }

 private:
  static constexpr char alive = 0;
  static constexpr char goodbye = 1;
  void send(const gate::pass& pass, char word);

  std::vector<peer> peers_;            // not resized once requests exist: they point into it
  std::vector<MPI_Request> requests_;  // 2i receives from peers_[i], 2i + 1 sends to it
};

}  // namespace mpi
}  // namespace transport
}  // namespace v1
}  // namespace shunt
