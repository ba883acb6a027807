/// What of a railway is no template, beside its stations: running them, and what it refuses.
#pragma once

#include <functional>
#include <source_location>
#include <string_view>
#include <vector>

namespace shunt {
inline namespace v1 {
namespace task {
namespace detail {

/// Runs the bodies as fibers, in blocks of equal size on the workers; in a runtime of its own if the caller is no
/// fiber.
void run_stations(const std::vector<std::function<void()>>& bodies, const std::vector<std::string_view>& names,
                  int workers, std::source_location where);

/// \param name  of the station; "": none was named.
[[noreturn, gnu::cold]] void throw_bad_predecessor(std::string_view name, std::source_location where);
[[noreturn, gnu::cold]] void throw_cannot_be_empty(std::source_location where);

}  // namespace detail
}  // namespace task
}  // namespace v1
}  // namespace shunt
