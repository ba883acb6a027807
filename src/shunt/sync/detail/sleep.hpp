/// A wait for a point in time, by a fiber or a thread, that a stop request ends.
#pragma once

#include <chrono>
#include <stop_token>

#include <shunt/base/call_site.hpp>

namespace shunt {
inline namespace v1 {
namespace sync::detail {

/// Throws what sleep() would throw on a worker that must not wait here and now. Does nothing on other threads.
void require_sleep(call_site call);

/// Returns at `time` or later. A time that has passed needs no wait.
/// \param what  static text, for the report of what is stuck. \param call  the function that the program called.
/// \return false: `stop` was asked to stop first. \throws what require_sleep(call) throws; std::bad_alloc.
[[nodiscard]] bool sleep(std::chrono::steady_clock::time_point time, const std::stop_token& stop, const char* what,
                         call_site call);

}  // namespace sync::detail
}  // namespace v1
}  // namespace shunt
