/// write(2), repeated until everything is written.
#pragma once

#include <cerrno>
#include <string_view>

#include <unistd.h>

namespace shunt {
inline namespace v1 {
namespace sched {
namespace detail {

/// Writes all of `text`, or as much as the system takes before it fails for another reason than a signal.
inline void write_all(int to, std::string_view text) noexcept {
  while (!text.empty()) {
    const auto written = ::write(to, text.data(), text.size());
    if (written < 0 && errno != EINTR) return;
    if (written > 0) text.remove_prefix(static_cast<std::size_t>(written));
  }
}

}  // namespace detail
}  // namespace sched
}  // namespace v1
}  // namespace shunt
