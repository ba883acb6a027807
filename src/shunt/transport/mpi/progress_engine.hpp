/// Moves trains through MPI: receives that are posted before their trains come, sends, and the tests that complete
/// both.
///
///   receive ring of a channel: its receives, in the order of posting
///
///     | under way | done | under way | free | free |
///       ^ first                        posted = 3   only `first` is tested; it is handed over once it is done
///
///   sends of a channel to one rank, k = eager_trains
///
///     eager, ... eager, synchronous, eager, ... eager, synchronous, synchronous, ...
///     k / 2                          at most k, of at most eager_bytes, until the end of the first synchronous one
///                                    confirms that all sends before it have met their receives
///
/// Invariants
///   mpi.M2  A receive is posted at first + posted and handed over at first. MPI matches the trains of one sender to
///           receives in the order of posting, so this keeps their order although a later receive may complete earlier.
///   mpi.M3  A channel with no free train has no receive posted. Its trains wait: at most k eager ones of each sender
///           in this rank's memory, the others at their senders, whose synchronous sends do not complete. The other
///           channels have their own communicators, trains and receives.
#pragma once

#include <mpi.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <shunt/rail/train.hpp>
#include <shunt/rail/train_inbox.hpp>
#include <shunt/transport/network/engine.hpp>
#include <shunt/transport/network/gate.hpp>
#include <shunt/transport/transport.hpp>

namespace shunt {
inline namespace v1 {
namespace transport {
namespace mpi {

/// Every member belongs to the holder of the gate (gate.G1).
class progress_engine final : public network::engine {
 public:
  /// Before start(). The carrier's place in the job.
  /// \param among  communicators of all ranks on which nothing else is sent, one a channel: a train is then matched
  ///               with the receives of its channel only
  void use(const network::gate::pass&, const std::array<MPI_Comm, channels>& among, int rank, int ranks) noexcept {
    among_ = among;
    rank_ = rank;
    ranks_ = ranks;
  }

  /// Posts the trains that receive. Waits for no other rank.
  void start(const network::gate::pass& pass, const service& settings) override;
  bool send_all(const network::gate::pass& pass, network::outbox& out) override;
  bool progress(const network::gate::pass& pass, network::outbox& out, rail::train_list& arrived) override;
  bool all_sent(const network::gate::pass&) const noexcept override { return leaving_.empty(); }
  /// Takes back the receives, and makes sure that no train has come to one. Waits for no other rank.
  void stop(const network::gate::pass& pass) override;
  /// Leaves the trains that receive to MPI, which may still write into them.
  void abandon(const network::gate::pass& pass) noexcept override;

 private:
  struct delete_train {
    void operator()(rail::train* t) const noexcept;
  };
  using owned_train = std::unique_ptr<rail::train, delete_train>;
  /// The receive side of a channel. Unloaded trains come home to its inbox, which tells the channel: a train's head
  /// does not, since every train that arrives overwrites it.
  struct receive_ring {
    rail::train_inbox home;
    std::vector<rail::train*> trains;
    std::vector<MPI_Request> requests;  // of the same slots
    std::size_t first = 0;
    std::size_t posted = 0;
  };
  /// Eager sends of a channel to one rank (mpi.M3).
  struct eager_count {
    std::uint64_t made = 0;
    std::uint64_t confirmed = 0;  // of those, by a synchronous send behind them
    bool confirming = false;      // such a send is under way
  };
  /// A send that MPI has not completed.
  struct departure {
    rail::train* train;
    eager_count* count;      // null: eager itself
    std::uint64_t confirms;  // so many of them, once it is complete
  };

  static owned_train make_train(rail::train_inbox& home, std::size_t capacity);
  void post(int channel, rail::train& t);
  void send(rail::train& t);
  bool take_received(rail::train_list& arrived);
  void hand_over(int channel, const MPI_Status& status, rail::train_list& arrived);
  bool test_sends();
  void send_departed_home();

  std::array<MPI_Comm, channels> among_{};
  int rank_ = 0;
  int ranks_ = 1;
  std::size_t capacity_ = 0;
  std::array<receive_ring, channels> rings_;
  std::vector<owned_train> trains_;
  std::vector<eager_count> eager_;  // of rank r and channel c at r * channels + c
  std::vector<departure> leaving_;
  std::vector<MPI_Request> departing_;  // departing_[i] carries leaving_[i].train
  unsigned untested_ = 0;               // polls since the sends were tested
  std::vector<int> indices_;            // what MPI_Testsome found done
  std::vector<MPI_Status> statuses_;
};

}  // namespace mpi
}  // namespace transport
}  // namespace v1
}  // namespace shunt
