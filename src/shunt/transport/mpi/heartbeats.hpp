/// Heartbeats: words of one byte that ranks send each other to say that they live.
///
///   `alive`     at each beat, to every peer that has taken the one before it
///   `goodbye`   the last one: the peer sends no further word
///
/// A word is a persistent synchronous send, so a rank that does not listen collects one word of a peer, not thousands.
#pragma once

#include <mpi.h>

#include <string_view>
#include <vector>

#include <shunt/transport/network/gate.hpp>
#include <shunt/transport/network/heartbeat_port.hpp>

namespace shunt {
inline namespace v1 {
namespace transport {
namespace mpi {

/// Every member belongs to the holder of the gate (gate.G1).
class heartbeats final : public network::heartbeat_port {
 public:
  /// Makes the requests, and starts to listen.
  /// \param among  a communicator on which nothing else is sent from rank to rank
  /// \throws shunt::error if MPI fails, as all functions here
  void open(const network::gate::pass& pass, MPI_Comm among, int rank, int ranks);

  void receive(const network::gate::pass& pass) override;
  /// Says `alive` to every peer that has taken the last word; nothing after a goodbye.
  void send(const network::gate::pass& pass) override { send(pass, alive); }
  bool is_over(const network::gate::pass& pass) const noexcept override;
  std::string_view library() const noexcept override { return "MPI"; }
  /// Goes on with the goodbyes. \return true: every peer has said goodbye, and has taken this rank's.
  [[nodiscard]] bool say_goodbye(const network::gate::pass& pass);
  /// Frees the requests. After the goodbyes.
  void close(const network::gate::pass& pass);

 private:
  static constexpr char alive = 0;
  static constexpr char goodbye = 1;
  void send(const network::gate::pass& pass, char word);

  /// Those between this rank and one peer.
  struct words {
    char received = 0;          // the receive's buffer
    char sent = 0;              // the send's buffer
    bool sending = false;       // the send is under way
    bool goodbye_sent = false;  // the peer needs no further words
  };

  std::vector<words> words_;           // with peers_[i]; not resized: requests point into it
  std::vector<MPI_Request> requests_;  // 2i receives from peers_[i], 2i + 1 sends to it
};

}  // namespace mpi
}  // namespace transport
}  // namespace v1
}  // namespace shunt
