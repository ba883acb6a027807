/// Two ranks of a job measure the network between them, before the job's service begins.
///
///   the one that asks    last >           data > data > ... last >           over >
///   the other one              < answer                            < answer
#pragma once

#include <chrono>
#include <string>

#include <shunt/pgas/network_speed.hpp>
#include <shunt/transport/transport.hpp>

namespace shunt {
inline namespace v1 {
namespace pgas {
namespace detail {

/// Collective, as measure_network(), which chooses the two ranks; the others wait.
/// \return the same on all ranks
[[nodiscard]] network_speed measure_between(transport::carrier& over, int asks, int answers,
                                            std::chrono::milliseconds deadline, const std::string& name);

}  // namespace detail
}  // namespace pgas
}  // namespace v1
}  // namespace shunt
