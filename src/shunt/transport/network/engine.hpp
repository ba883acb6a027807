/// What a network does with trains: the part of a carrier that each network has its own of.
#pragma once

#include <cstddef>

#include <shunt/rail/inbox.hpp>
#include <shunt/rail/train.hpp>
#include <shunt/transport/network/gate.hpp>
#include <shunt/transport/transport.hpp>

namespace shunt {
inline namespace v1 {
namespace transport {
namespace network {

/// Trains that a program has sent and that the network does not have yet; head.rank says to which rank each goes.
using outbox = rail::inbox<rail::train>;

/// Moves trains. Every function is for the holder of the gate (gate.G1), never waits for another rank unless it says
/// so, and throws shunt::error if the network fails.
class engine {
 public:
  engine(const engine&) = delete;
  engine& operator=(const engine&) = delete;

  /// Collective, and may wait for the other ranks. Makes the trains that receive. \throws std::bad_alloc as well
  virtual void start(const gate::pass& pass, const service& settings) = 0;

  /// Takes every train of `out`. \return false: there was none.
  virtual bool send_all(const gate::pass& pass, outbox& out) = 0;

  /// Takes every train of `out`, and what the network has done: trains that have left go home, received ones are
  /// appended to `arrived`, and those of them that have come home receive again. \return true: something moved.
  virtual bool progress(const gate::pass& pass, outbox& out, rail::train_list& arrived) = 0;

  /// Whether every train that was taken has left.
  [[nodiscard]] virtual bool all_sent(const gate::pass& pass) const noexcept = 0;

  /// Collective, once no train is under way on any rank; may wait for the other ranks.
  /// \throws shunt::error if a received train is not home, or one arrives
  virtual void stop(const gate::pass& pass) = 0;

  /// The job ends in the middle: leaves to the network the memory that it may still write into.
  virtual void abandon(const gate::pass& pass) noexcept = 0;

 protected:
  engine() = default;
  ~engine() = default;
};

}  // namespace network
}  // namespace transport
}  // namespace v1
}  // namespace shunt
