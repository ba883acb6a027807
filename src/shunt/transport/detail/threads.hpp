/// The transport of a job that is one process: there is no other rank to carry a train to.
#pragma once

#include <memory>

#include <shunt/transport/transport.hpp>

namespace shunt {
inline namespace v1 {
namespace transport {
namespace detail {

/// Any thread. Never waits.
[[nodiscard]] std::unique_ptr<carrier> open_threads();

}  // namespace detail
}  // namespace transport
}  // namespace v1
}  // namespace shunt
