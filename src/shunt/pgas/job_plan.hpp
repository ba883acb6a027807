/// How a job would lie on a machine: where its PEs live, how large its trains are, and over which workers messages go.
/// It is what run() works out for itself; here without a job, for a machine that need not exist.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <shunt/pgas/options.hpp>

namespace shunt {
inline namespace v1 {
namespace pgas {

/// PEs lie in contiguous blocks on workers, workers on ranks.
struct job_plan {
  int pes = 1;                           ///< of the job
  int workers = 1;                       ///< of the job
  std::vector<std::uint16_t> worker_of;  ///< by PE
  std::vector<int> first_pe;             ///< by worker, and one more
  std::vector<std::uint16_t> rank_of;    ///< by worker
  std::size_t train_bytes = 0;           ///< bytes of messages a train carries
  std::size_t regular = 0;               ///< trains of a worker's programs that may be under way
  int hops = 1;                          ///< 1: trains go straight; 2: over an intermediate worker
  bool plain = true;                     ///< a send buffer for each PE, and messages without routes
  bool requests_routed = false;          ///< though `plain`: those for the PEs of a worker share a buffer
  int columns = 1;                       ///< of the grid of two hops

  /// \param wanted   pes, budget, train_bytes and hops of it count; pes 0: one a worker
  /// \param workers  that each rank can carry, by rank; not empty
  /// \throws usage_error for fewer PEs than ranks, and for a budget that is too small
  [[nodiscard]] static job_plan of(const options& wanted, const std::vector<int>& workers);
  /// The worker for which worker `from` loads messages that go to worker `to`.
  [[nodiscard]] int next_hop(int from, int to) const noexcept;
};

}  // namespace pgas
}  // namespace v1
}  // namespace shunt
