/// What a rank believes of a train that another process sent: nothing that it has not compared.
///
/// Trains of this process are believed, for the same code loaded them. A train from another process has crossed a
/// network and memory that are not ours. Unloading it uses lengths, offsets, handler numbers, PEs and workers from its
/// heads as indices and as bounds of loops. The validator compares each of them once, when the train arrives, before
/// any of it is used.
///
/// Invariants, of a train that was found sound
///   V1  Its batches lie one after another within its bytes; the messages of each lie within the batch, and are as many
///       as its head says.
///   V2  Each batch names a handler of this program, with the mailbox, the flags and the length of messages of that
///       handler.
///   V3  Each PE that a message is for lives on the worker that unloads the train or, on the first of two hops, on a
///       worker that is one hop further. Each PE that it came from is one of the job.
///   V4  The head of each batch, and the captures of each message between workers, carry the check that belongs to
///       them.
///
/// What depends on this worker's state (does the mailbox exist, was that reply asked for, may that token come now) is
/// compared where it is used: termination, collectives, agreement, tree_gather, pending_replies. What messages carry,
/// captures and payload, is the program's: a handler that uses a message as an index has to know where the message
/// comes from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <shunt/rail/train.hpp>
#include <shunt/wire.hpp>
#include <span>
#include <string>

namespace shunt {
inline namespace v1 {
namespace pgas {
namespace detail {

/// The mailbox of messages between workers. No selector counts them.
inline constexpr std::uint8_t control = 255;

/// Thrown where a message between workers or a reply turns out to be impossible. The receiver adds which train said so.
struct damage {
  std::string what;  ///< "end mark: mailbox 7, but the selector has 2"
};

/// "rank 1 sent a damaged train (4096 bytes, channel 0, worker 2 to worker 0): batch at byte 96: WHAT"
/// \param batch  of the batch's head, from the first batch of the train; bytes of the train and more: no batch
[[nodiscard]] std::string damaged(const rail::train& t, std::size_t batch, const std::string& what);

/// The check of the captures of a message between workers: it stands where other messages have their route.
[[nodiscard]] wire::route control_check(std::span<const std::byte> captures) noexcept;

/// Compares the trains that arrive at one rank with what this rank knows of the job.
class validator {
 public:
  struct facts {
    int rank = 0;
    int pes = 0;
    int workers = 0;  ///< of the job
    int hops = 1;
    int columns = 1;                           ///< of the grid of two hops
    bool plain = true;                         ///< a batch's head names both PEs
    bool requests_routed = false;              ///< though `plain`, requests have routes
    std::span<const std::uint16_t> worker_of;  ///< by PE; must outlive the validator
    std::span<const std::uint16_t> rank_of;    ///< by worker; likewise
  };

  validator() = default;  ///< for a job of one process: nothing is asked of it
  explicit validator(const facts& known) noexcept : known_(known) {}

  /// Any thread. \param t  as the transport handed it over
  /// \return what is wrong with it, one line; empty: it is sound.
  /// Cost: some 10 ns a batch; where messages have routes, 1 ns a message.
  [[nodiscard]] std::string fault_of(const rail::train& t) const;

 private:
  class reader;
  facts known_;
};

}  // namespace detail
}  // namespace pgas
}  // namespace v1
}  // namespace shunt
