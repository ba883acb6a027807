#include <shunt/pgas/job_plan.hpp>

#include <numeric>
#include <string>

#include <shunt/base/error.hpp>
#include <shunt/pgas/detail/buffer_plan.hpp>
#include <shunt/pgas/detail/job_layout.hpp>

namespace shunt {
inline namespace v1 {
namespace pgas {

job_plan job_plan::of(const options& wanted, const std::vector<int>& workers) {
  const auto ranks = static_cast<int>(workers.size());
  const int pes = wanted.pes != 0 ? wanted.pes : std::accumulate(workers.begin(), workers.end(), 0);
  if (pes < ranks) {
    throw usage_error(error_number(906), "--pes " + std::to_string(pes) + ": with " + std::to_string(ranks) +
                                             " ranks at least as many PEs are needed");
  }
  auto where = detail::job_layout::over(pes, workers, 0);
  const auto trains = detail::buffer_plan::of(where, wanted.budget, wanted.train_bytes, wanted.hops);
  job_plan plan;
  plan.pes = pes;
  plan.workers = where.workers;
  plan.worker_of = std::move(where.worker_of);
  plan.first_pe = std::move(where.first_pe);
  plan.rank_of = std::move(where.rank_of);
  plan.train_bytes = trains.capacity;
  plan.regular = trains.regular;
  plan.hops = trains.hops;
  plan.plain = trains.plain;
  plan.requests_routed = trains.requests_routed;
  plan.columns = where.columns;
  return plan;
}

int job_plan::next_hop(int from, int to) const noexcept {
  detail::job_layout grid;
  grid.workers = workers;
  grid.columns = columns;
  return grid.hop(from, to, hops);
}

}  // namespace pgas
}  // namespace v1
}  // namespace shunt
