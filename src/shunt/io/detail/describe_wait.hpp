/// What a fiber that waits for a descriptor waits for, in words for a report.
#pragma once

#include <string>

#include <shunt/io/detail/descriptor_state.hpp>

namespace shunt {
inline namespace v1 {
namespace io {
namespace detail {

/// ", to read from descriptor 5, peer 127.0.0.1:80". Asks the system about the descriptor as it is now, which may be
/// another one's number by then.
[[nodiscard]] std::string describe_wait(int fd, side which);

}  // namespace detail
}  // namespace io
}  // namespace v1
}  // namespace shunt
