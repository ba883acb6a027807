/// What the code in the comments of module base takes for granted: see tools/snippets.py.
#pragma once

#include <cstdint>

namespace examples::base_random {
constexpr std::uint64_t seed = 1;
extern std::uint64_t i;
extern std::uint64_t table_size;
}  // namespace examples::base_random
