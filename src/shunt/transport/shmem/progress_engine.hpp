/// Moves trains through symmetric memory: tickets for each channel of each rank, and trains that receive.
///
///   in the symmetric memory of the rank that receives, for each channel, n = receive_trains
///
///     counter     | next ticket |        senders draw tickets from it, by an atomic fetch-add
///     granted     | word | ... n         by the receiver  \  a ring of positions: ticket t has number t % n
///     arrived     | word | ... n         by senders       /
///     trains      | train | ... n        whole ones, which are handed over in place
///
///   a position, from ticket t - n to ticket t
///
///     state      granted says     arrived says   goes on by
///     waiting    ticket t - n     t - n          the receiver, once a train is at home: grants it to ticket t
///     granted    t, train i       t - n          the sender that has drawn t: puts the freight into train i, then t
///     arrived    t, train i       t              the receiver, once all before t have arrived: hands train i over
///     waiting    t, train i       t              as above, for ticket t + n
///
///   a train that leaves: outbox -> send queue of its channel and rank -> home, as soon as its freight is put
///
/// A sender keeps a copy of all that a channel has granted, and fetches it anew when it does not say enough: a grant
/// stays as it is until its ticket has arrived.
///
/// Invariants
///   shmem.S1  A ticket has one sender, and a send queue holds one ticket at most, for its first train. So the trains
///             of a queue arrive in their order.
///   shmem.S2  Tickets are granted in their order. Those in [first, granted) have a train each, so they are at most n:
///             position t % n is free when ticket t is granted.
///   shmem.S3  A sender writes into a train only after it was granted to its ticket, and before it says that it has
///             arrived. The receiver, and the code that unloads the train, are done with it before they grant it again.
///   shmem.S4  A channel whose trains are all out grants nothing: its trains wait at their senders, in send queues. The
///             other channels have their own tickets, positions and trains.
///
/// Edges: a release on one rank, and an acquire on another; what OpenSHMEM moves in between keeps the order
///   `grant`   grant() -> is_granted()    the train is unloaded (shmem.S3)
///   `laid`    put() -> take_received()  the freight; shmem_fence() stands between it and the word
#pragma once

#include <shmem.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <shunt/base/cache_line.hpp>
#include <shunt/rail/train.hpp>
#include <shunt/rail/train_inbox.hpp>
#include <shunt/transport/network/engine.hpp>
#include <shunt/transport/network/gate.hpp>
#include <shunt/transport/shmem/board.hpp>
#include <shunt/transport/transport.hpp>

namespace shunt {
inline namespace v1 {
namespace transport {
namespace shmem {

/// Every member belongs to the holder of the gate (gate.G1).
class progress_engine final : public network::engine {
 public:
  /// Before start(). The carrier's place in the job.
  /// \param own  its board
  void use(const network::gate::pass&, board& own, int rank, int ranks) noexcept {
    board_ = &own;
    rank_ = rank;
    ranks_ = ranks;
  }

  /// Allocates symmetric memory, which waits for all ranks.
  /// \throws shunt::error on every rank if it has no room
  void start(const network::gate::pass& pass, const service& settings) override;
  bool send_all(const network::gate::pass& pass, network::outbox& out) override;
  bool progress(const network::gate::pass& pass, network::outbox& out, rail::train_list& arrived) override;
  bool all_sent(const network::gate::pass&) const noexcept override { return active_.empty(); }
  /// Gives the symmetric memory back, which waits for all ranks.
  void stop(const network::gate::pass& pass) override;
  /// The symmetric memory stays as it is until the process ends: other ranks may still put into it.
  void abandon(const network::gate::pass&) noexcept override {}

 private:
  /// In symmetric memory: from which senders draw the tickets of a channel. Only atomic calls change it.
  struct alignas(quiet_distance) counter {
    word next;
  };
  /// Of a granted word: in the upper ones a ticket's number, plus 1 (0 is none), in the lower ones which train. An
  /// arrived word is a ticket's number, plus 1.
  static constexpr unsigned train_bits = 16;

  /// The receive side of a channel.
  struct receive_ring {
    rail::train_inbox home;           // which tells the channel of an unloaded train
    std::vector<std::size_t> trains;  // by position: which one is granted
    word first = 0;                   // the ticket that is handed over next
    word granted = 0;                 // the one that is granted next (shmem.S2)
  };
  /// Trains of one channel for one rank that have not left.
  struct send_queue {
    rail::train_list waiting;
    std::vector<word> granted;  // by position: as last fetched; empty before the first time
    word ticket = 0;
    bool has_ticket = false;  // for the first of them (shmem.S1)
  };

  [[nodiscard]] counter& counter_of(std::size_t channel) const noexcept;
  [[nodiscard]] word& granted_of(std::size_t channel, word ticket) const noexcept;
  [[nodiscard]] word& arrived_of(std::size_t channel, word ticket) const noexcept;
  [[nodiscard]] rail::train& train_of(std::size_t channel, std::size_t index) const noexcept;
  [[nodiscard]] std::size_t index_of(std::size_t channel, const rail::train& t) const noexcept;
  void grant(std::size_t channel, std::size_t index);
  void grant_trains_at_home();
  [[nodiscard]] bool is_granted(send_queue& from, std::size_t channel, int to);
  bool advance(std::size_t which);
  bool advance_all(std::size_t from);
  void put(send_queue& from, std::size_t channel, int to, std::size_t index);
  bool take_received(rail::train_list& arrived);
  void hand_over(std::size_t channel, rail::train& t, rail::train_list& arrived) const;

  board* board_ = nullptr;
  int rank_ = 0;
  int ranks_ = 1;
  std::size_t capacity_ = 0;
  std::size_t count_ = 0;        // of trains a channel, and of positions: n
  std::size_t row_ = 0;          // bytes of the words of a channel
  std::size_t stride_ = 0;       // bytes from train to train
  std::byte* memory_ = nullptr;  // symmetric: counters, granted, arrived, trains
  std::array<receive_ring, channels> rings_;
  std::vector<send_queue> queues_;   // of rank r and channel c at r * channels + c
  std::vector<std::size_t> active_;  // the send_queues with trains
  unsigned unmoved_ = 0;             // polls since OpenSHMEM had a chance to move its messages
};

}  // namespace shmem
}  // namespace transport
}  // namespace v1
}  // namespace shunt
