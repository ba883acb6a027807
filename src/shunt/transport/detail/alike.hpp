/// What all ranks must ask of a transport alike.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <shunt/base/error.hpp>

namespace shunt {
inline namespace v1 {
namespace transport {
namespace detail {

/// \param asked  by rank, the settings of its service, as text
/// \throws shunt::error if those of one rank differ from those of rank 0
inline void refuse_different(const std::vector<std::string>& asked) {
  for (std::size_t r = 0; r < asked.size(); ++r) {
    if (asked[r] == asked[0]) continue;
    throw error(error_number(803),
                "rank " + std::to_string(r) + " asks the transport for " + asked[r] + ", rank 0 for " + asked[0] +
                    ": the options of all ranks must be alike",
                {.rank = static_cast<int>(r)});
  }
}

}  // namespace detail
}  // namespace transport
}  // namespace v1
}  // namespace shunt
