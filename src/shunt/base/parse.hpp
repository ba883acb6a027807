/// Strict numbers from options and environment variables: the whole text is a number, or an error names the option, the
/// text and what would have been right.
#pragma once

#include <chrono>
#include <cstdint>
#include <limits>
#include <string_view>

namespace shunt {
inline namespace v1 {

/// Any thread. Decimal digits only: no sign, no space, no suffix.
/// \param option  as the user wrote it, for the message: "--pes", "SHUNT_WORKERS"
/// \return a number from `lowest` to `highest`
/// \throws usage_error for anything else
[[nodiscard]] std::uint64_t parse_count(std::string_view option, std::string_view text, std::uint64_t lowest = 0,
                                        std::uint64_t highest = std::numeric_limits<std::uint64_t>::max());

/// Any thread. Like parse_count, with an optional suffix k, M or G (either case): times 1024, 1024^2, 1024^3.
[[nodiscard]] std::uint64_t parse_bytes(std::string_view option, std::string_view text, std::uint64_t lowest = 0,
                                        std::uint64_t highest = std::numeric_limits<std::uint64_t>::max());

/// Any thread. A time: a whole number with the unit ms, s, min, h or d; without a unit, seconds. At most 1,000 days.
/// \throws usage_error for anything else
[[nodiscard]] std::chrono::milliseconds parse_time(std::string_view option, std::string_view text);

}  // namespace v1
}  // namespace shunt
