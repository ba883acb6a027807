/// Every worker's bytes on every worker: up a binomial tree to worker 0, and down again, in pieces that fit a train.
///
/// Cost: 2 * log2(workers) messages deep. Memory is taken for bytes that have come, not for a total that a piece
/// announces. A worker may be one gather behind its children; its parent waits for it, and never is ahead.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include <shunt/pgas/detail/control_messages.hpp>
#include <shunt/pgas/detail/outbound.hpp>

namespace shunt {
inline namespace v1 {
namespace pgas {
namespace detail {

/// A worker's bytes, and the collective call that it was in when it gave them.
struct contribution {
  collective_call call;
  std::uint32_t past = 0;  // its call_history
  std::vector<std::byte> bytes;
};

class tree_gather {
 public:
  tree_gather(const worker_facts& facts, outbound& out, waiting& waits) noexcept
      : facts_(facts), out_(out), waits_(waits) {}

  /// Collective over workers: the last PE of each calls. \return every worker's contribution, by worker.
  /// \throws error for what no worker sends, job_over when the job has failed
  [[nodiscard]] std::vector<contribution> gather(const contribution& mine);

  /// \throws damage for what cannot be
  void piece_arrived(const gather_piece& head, std::span<const std::byte> bytes);

 private:
  struct partial {
    std::uint32_t sequence;
    int from;
    bool down;
    std::uint32_t total;
    std::vector<std::byte> bytes;                           // those that follow one another from the first
    std::map<std::uint32_t, std::vector<std::byte>> early;  // pieces that came before one that precedes them
  };
  [[nodiscard]] int reach() const noexcept;
  [[nodiscard]] int parent() const noexcept { return facts_.index - reach(); }
  [[nodiscard]] bool is_child(int worker) const noexcept;
  partial& partial_of(const gather_piece& head);
  void send(int to, bool down, std::span<const std::byte> bytes, const collective_call& call);
  std::vector<std::byte> take(int from, bool down, const collective_call& call);
  [[nodiscard]] std::vector<contribution> unbundle(std::span<const std::byte> bundle,
                                                   const collective_call& call) const;

  const worker_facts& facts_;
  outbound& out_;
  waiting& waits_;
  std::uint32_t sequence_ = 0;  // of the gather under way
  std::vector<partial> partials_;
};

}  // namespace detail
}  // namespace pgas
}  // namespace v1
}  // namespace shunt
