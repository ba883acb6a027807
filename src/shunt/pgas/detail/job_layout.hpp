/// Where the PEs of a job live: on which worker, of which rank; and over which workers messages go.
#pragma once

#include <cstdint>
#include <vector>

namespace shunt {
inline namespace v1 {
namespace pgas {
namespace detail {

/// The grid of two hops. Where all ranks have the same number of workers, a row is a rank: a message goes to the worker
/// of its own rank that stands in the destination's column, and from there over the network, once. Where they have not,
/// or where that takes too many buffers, the grid is the smallest square.
///
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
  int columns = 1;                       // of the grid of two hops; workers of one row or one column are neighbours

  /// \param workers  that each rank can carry, by rank
  static job_layout over(int pes, const std::vector<int>& workers, int rank);
  /// The worker for which worker `from` loads messages that go to worker `to`.
  [[nodiscard]] int hop(int from, int to, int hops) const noexcept {
    if (hops == 1 || to / columns == from / columns || to % columns == from % columns) return to;
    // Along the row first. In a last row that is not full that place may be empty; then `from` is in that row, the
    // destination's row is full, and the column comes first.
    const int via = from / columns * columns + to % columns;
    return via < workers ? via : to / columns * columns + from % columns;
  }
  /// \return by PE, the worker for which worker `from` loads messages; and the workers among them, in `neighbours`.
  [[nodiscard]] std::vector<std::uint16_t> hops_from(int from, int hops, std::vector<int>& neighbours) const;
  /// Workers for which one loads messages over two hops, itself included twice: as many as it may need buffers for.
  [[nodiscard]] int buffers_of_two_hops() const noexcept { return columns + (workers + columns - 1) / columns; }
  /// Columns of the smallest square that holds all workers.
  [[nodiscard]] static int square_columns(int workers) noexcept;
};

}  // namespace detail
}  // namespace pgas
}  // namespace v1
}  // namespace shunt
