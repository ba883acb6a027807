/// Moves trains through MPI: receives that are posted before their trains come, sends, and the tests that complete
/// both.
///
///   receive ring of a channel: its receives, in the order of posting
///
///     | done | under way | done | free | free |
///       ^ first            posted = 3               handed over from `first` on, while done
///
/// Invariants
///   mpi.M2  A receive is posted at first + posted and handed over at first. MPI matches the trains of one sender to
///           receives in the order of posting, so this keeps their order although a later receive may complete earlier.
///   mpi.M3  A channel with no free train has no receive posted. Its trains wait at their senders, whose synchronous
///           sends do not complete; the other channels have their own tags, trains and receives.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <memory>
#include <vector>

#include <shunt/rail/inbox.hpp>
#include <shunt/rail/train.hpp>
#include <shunt/rail/train_inbox.hpp>
#include <shunt/transport/mpi/gate.hpp>
#include <shunt/transport/transport.hpp>

namespace shunt {
inline namespace v1 {
namespace transport {
namespace mpi {

/// Trains that a program has sent and that MPI does not have yet; head.rank says to which rank each goes.
using outbox = rail::inbox<rail::train>;

/// Every member belongs to the holder of the gate (mpi.M1).
class progress_engine {
 public:
  /// Makes the trains that receive, and posts them.
  /// \param among  a communicator on which nothing else is sent from rank to rank
  /// \throws shunt::error if MPI fails, as all functions here; std::bad_alloc
  void start(const gate::pass& pass, MPI_Comm among, const service& settings);

  /// Hands every train of `out` to MPI. \return false: there was none.
  bool send_all(const gate::pass& pass, outbox& out);

  /// Posts trains that have come home again, hands those of `out` to MPI, and takes what has completed: trains that
  /// have left go home, received ones are appended to `arrived`. \return true: something moved.
  bool progress(const gate::pass& pass, outbox& out, rail::train_list& arrived);

  /// Whether MPI has completed every send.
  [[nodiscard]] bool all_sent(const gate::pass&) const noexcept { return leaving_.empty(); }

  /// Takes back the receives, and makes sure that no train has come to one. Once no train is under way on any rank.
  /// \param rank  this one, for errors
  /// \throws shunt::error if a received train is not home, or one arrives
  void stop(const gate::pass& pass, int rank);

  /// Leaves the trains that receive to MPI, which may still write into them when the job ends in the middle.
  void abandon(const gate::pass& pass) noexcept;

  /// Between start() and stop(). Any thread. Bytes of goods of the largest train.
  [[nodiscard]] std::size_t capacity() const noexcept { return capacity_; }

 private:
  struct delete_train {
    void operator()(rail::train* t) const noexcept;
  };
  using owned_train = std::unique_ptr<rail::train, delete_train>;
  /// A receive; done once its length is known.
  struct receive {
    rail::train* train = nullptr;
    int bytes = -1;
    int source = -1;
  };
  /// The receive side of a channel. Unloaded trains come home to its inbox, which tells the channel: a train's head
  /// does not, since every train that arrives overwrites it.
  struct receive_ring {
    rail::train_inbox home;
    std::vector<receive> receives;
    std::size_t first = 0;
    std::size_t posted = 0;
  };

  static owned_train make_train(rail::train_inbox& home, std::size_t capacity);
  void post(int channel, rail::train& t);
  bool test();
  int test_some();
  [[noreturn]] void throw_first_failure(int code, int done) const;
  void note_receive(std::size_t index, const MPI_Status& status);
  void send_departed_home();
  void hand_over(int channel, rail::train_list& arrived);

  MPI_Comm among_ = MPI_COMM_NULL;
  std::size_t capacity_ = 0;
  std::size_t ring_size_ = 0;  // receives of a channel
  receive_ring rings_[channels];
  std::vector<owned_train> trains_;
  std::size_t receives_ = 0;           // requests_[0, receives_) are the rings', channel by channel;
  std::vector<MPI_Request> requests_;  // requests_[receives_ + i] carries leaving_[i]
  std::vector<rail::train*> leaving_;
  std::vector<int> indices_;  // what MPI_Testsome found done
  std::vector<MPI_Status> statuses_;
};

}  // namespace mpi
}  // namespace transport
}  // namespace v1
}  // namespace shunt
