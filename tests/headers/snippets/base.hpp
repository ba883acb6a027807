/// What the code in the comments of module base takes for granted: see tools/snippets.py.
#pragma once

#include <cstdint>
#include <source_location>

#include <shunt/base/call_site.hpp>

namespace examples::base_call_site {
void wait_for_all(shunt::call_site call);
}  // namespace examples::base_call_site

namespace examples::base_random {
constexpr std::uint64_t seed = 1;
extern std::uint64_t i;
extern std::uint64_t table_size;
}  // namespace examples::base_random
