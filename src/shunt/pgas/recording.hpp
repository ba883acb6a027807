/// What a job did, superstep by superstep: what its PEs sent to each other, and what it cost. `shunt simulate` lays a
/// recording over machines that are not there.
///
/// A job that is recorded runs in one process on one worker, so that each superstep has one border for all PEs, and
/// nothing waits for another thread. The calling thread's time is measured: a PE's from one collective call to the
/// next, without the handlers that ran meanwhile; a handler's batch by batch, of which the median counts.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace shunt {
inline namespace v1 {
namespace pgas {

class pe;
namespace detail {
class recorder;
}

/// Filled by the next job while a record_next_job lives.
class recording {
 public:
  /// PEs first .. last-1.
  struct block {
    int first = 0;  ///< the first of them
    int last = 0;   ///< the one behind the last
  };
  /// Messages from one PE to another.
  struct sent {
    std::int32_t from = 0;       ///< the PE that sent them
    std::int32_t to = 0;         ///< the PE that got them
    std::uint32_t messages = 0;  ///< how many
  };
  /// The messages for one handler in one superstep, sent by programs or by handlers.
  struct flow {
    std::string handler;             ///< as the library names it in messages
    int mailbox = 0;                 ///< of its actor or selector
    bool requests = false;           ///< each is answered
    bool replies = false;            ///< to requests: `pairs` has none, for they go back where requests came from
    bool by_handlers = false;        ///< else by programs
    std::uint64_t messages = 0;      ///< of all PEs
    std::uint64_t plain_bytes = 0;   ///< all of them, where messages have no routes
    std::uint64_t routed_bytes = 0;  ///< and where they have
    std::int64_t handler_ps = 0;     ///< picoseconds to handle one; the median of batches
    std::vector<sent> pairs;         ///< of the blocks' PEs, sorted by `from`, then by `to`
  };
  /// What lies between two collective calls.
  struct superstep {
    std::string ended_by;             ///< the collective call: "finish()"
    bool measured = false;            ///< it lies in a part that the program has marked: mark_measured()
    std::int64_t program_ps = 0;      ///< of all PEs, packing of messages included
    std::vector<std::int64_t> pe_ps;  ///< the same of each PE of the blocks, in their order
    std::vector<flow> flows;          ///< in the order in which they came up
  };

  /// All PEs of the job are kept in full.
  recording() = default;
  /// \param kept  PEs whose sends are kept in full, in ascending order; of others sums are kept
  explicit recording(std::vector<block> kept) : kept_(std::move(kept)) {}

  /// PEs of the job; 0: no job has been recorded.
  [[nodiscard]] int pes() const noexcept { return pes_; }
  /// PEs whose sends are kept in full.
  [[nodiscard]] const std::vector<block>& kept() const noexcept { return kept_; }
  /// In their order.
  [[nodiscard]] const std::vector<superstep>& supersteps() const noexcept { return supersteps_; }

 private:
  friend class detail::recorder;
  int pes_ = 0;
  std::vector<block> kept_;
  std::vector<superstep> supersteps_;
};

/// While it lives, the next job that its thread starts by run() is recorded; later ones are not. A job of several
/// processes, and an explored one, are not recorded either. One at a time in a thread.
/// Cost: where nothing is recorded, one branch a batch.
class record_next_job {
 public:
  /// \param into  outlives the object; a job that fails leaves it as it was
  explicit record_next_job(recording& into) noexcept;
  /// The same thread. A job that has not begun is not recorded.
  ~record_next_job();
  record_next_job(const record_next_job&) = delete;
  record_next_job& operator=(const record_next_job&) = delete;
};

/// Local. Where the part of the program begins, or ends, that a simulation is to be of: the supersteps from one call to
/// the other are marked. Where nothing is recorded it does nothing.
/// \param on  whether it begins
void mark_measured(pe& me, bool on) noexcept;

}  // namespace pgas
}  // namespace v1
}  // namespace shunt
