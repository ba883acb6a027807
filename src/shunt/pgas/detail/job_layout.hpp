/// Where the PEs of a job live: on which worker, of which rank; and over which workers messages go.
#pragma once

#include <cstdint>
#include <vector>

namespace shunt {
inline namespace v1 {
namespace pgas {
namespace detail {

/// PEs lie in contiguous blocks: PE p of P lives on rank r of R when r*P/R <= p < (r+1)*P/R, and on a worker of that
/// rank by the same rule.
struct job_layout {
  int pes = 1;
  int workers = 1;            // of the job
  int first_worker_here = 0;  // of this rank
  int workers_here = 1;
  std::vector<std::uint16_t> worker_of;  // by PE
  std::vector<int> first_pe;             // by worker, and one more
  std::vector<std::uint16_t> rank_of;    // by worker

  /// \param workers  that each rank can carry, by rank
  static job_layout over(int pes, const std::vector<int>& workers, int rank);
  /// \return by PE, the worker for which worker `from` loads messages; and the workers among them, in `neighbours`.
  [[nodiscard]] std::vector<std::uint16_t> hops_from(int from, int hops, std::vector<int>& neighbours) const;
  /// Of the grid of two hops; workers of one row or one column are neighbours.
  [[nodiscard]] int columns() const noexcept { return columns_of(workers); }
  [[nodiscard]] static int columns_of(int workers) noexcept;
};

}  // namespace detail
}  // namespace pgas
}  // namespace v1
}  // namespace shunt
