/// Which CPUs the ranks of a job may use, and how they divide them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <shunt/base/topology.hpp>
#include <shunt/transport.hpp>

namespace shunt {
inline namespace v1 {
namespace pgas {

/// One rank.
struct rank_cpus {
  std::string kernel;  ///< ranks with the same text share CPUs: see kernel_identity()
  cpu_claim claim;     ///< its affinity mask, as its launcher left it, the limits of its control groups, and --workers
  cpu_share share;     ///< among the ranks of its kernel
};

/// Collective, where no service runs: every rank tells the others what it may use.
/// \param workers  what this rank was told to use; 0: its share
/// \return by rank; the same everywhere. The rule is that of share_cpus(), kernel by kernel.
[[nodiscard]] std::vector<rank_cpus> placement(transport::carrier& over, int workers);

/// Divides the CPUs anew, between ranks that want `workers` each. \param workers  by rank, each at least 1
[[nodiscard]] std::vector<rank_cpus> divide(std::vector<rank_cpus> ranks, const std::vector<int>& workers);

}  // namespace pgas
}  // namespace v1
}  // namespace shunt
