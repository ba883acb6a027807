/// By how much a test that repeats itself does so less often: sanitizers that follow each access take about ten times
/// as long.
#pragma once

#include <shunt/base/sanitizers.hpp>

namespace shunt::testing {

#if defined(SHUNT_TSAN) || defined(SHUNT_ASAN)
inline constexpr int slowly = 10;
#else
inline constexpr int slowly = 1;
#endif

}  // namespace shunt::testing
