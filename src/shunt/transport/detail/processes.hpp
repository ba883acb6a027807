/// The transport between processes of one machine that share memory: there is no network to carry a train.
#pragma once

#include <memory>
#include <optional>

#include <shunt/transport/processes.hpp>
#include <shunt/transport/transport.hpp>

namespace shunt {
inline namespace v1 {
namespace transport {
namespace detail {

/// What the launcher has told this process (processes.hpp).
struct process_of_job {
  int rank = 0;
  int ranks = 1;
  int meeting = -1;  ///< descriptor of the memory in which they meet
  int trains = -1;   ///< of that of their trains
};

/// The variables' names.
inline constexpr const char* rank_variable = rank_variables[0];
inline constexpr const char* job_variable = "SHUNT_JOB";

/// Any thread, while none changes the environment. Nothing: run_processes() has not started this process.
/// \throws usage_error for variables that it cannot have set
[[nodiscard]] std::optional<process_of_job> find_process_of_job();

/// Collective. \throws shunt::error, usage_error
[[nodiscard]] std::unique_ptr<carrier> open_processes(const process_of_job& self, const limits& time_limits);

}  // namespace detail
}  // namespace transport
}  // namespace v1
}  // namespace shunt
