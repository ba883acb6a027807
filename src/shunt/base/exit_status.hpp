/// The status with which a process ends that has failed.
#pragma once

#include <cstdlib>

namespace shunt {
inline namespace v1 {

/// The system keeps eight bits of a status: 256 would look like success.
/// \return `status`, or EXIT_FAILURE where nothing of it would be left
[[nodiscard]] constexpr int status_of_failure(int status) noexcept {
  return (status & 0xFF) == 0 ? EXIT_FAILURE : status;
}

}  // namespace v1
}  // namespace shunt
