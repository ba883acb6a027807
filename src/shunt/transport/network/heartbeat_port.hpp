/// Words that ranks send each other to say that they live, whatever the network: the failure detector sends and takes
/// them here. Each rank sends to its peers of detail/watching.hpp.
#pragma once

#include <string_view>
#include <vector>

#include <shunt/transport/network/gate.hpp>
#include <shunt/transport/network/peer.hpp>

namespace shunt {
inline namespace v1 {
namespace transport {
namespace network {

/// Heartbeats over one network. Every function but library() is for the holder of the gate (gate.G1).
class heartbeat_port {
 public:
  heartbeat_port(const heartbeat_port&) = delete;
  heartbeat_port& operator=(const heartbeat_port&) = delete;

  /// Takes the words that have come: their peers are no longer silent. \throws shunt::error if the network fails
  virtual void receive(const gate::pass& pass) = 0;
  /// Says to every peer that this rank lives. \throws shunt::error if the network fails
  virtual void send(const gate::pass& pass) = 0;
  /// Whether the program has finalised the network's library itself, so that no call of it is allowed any more.
  [[nodiscard]] virtual bool is_over(const gate::pass& pass) const noexcept = 0;
  /// What the network's library is called in messages: "MPI".
  [[nodiscard]] virtual std::string_view library() const noexcept = 0;

  /// The ranks of detail::peers_of(); empty before the port is opened.
  [[nodiscard]] std::vector<peer>& peers(const gate::pass&) noexcept { return peers_; }

 protected:
  heartbeat_port() = default;
  ~heartbeat_port() = default;

  std::vector<peer> peers_;  ///< not resized once it is open
};

}  // namespace network
}  // namespace transport
}  // namespace v1
}  // namespace shunt
