/// The unit in which memory moves between cores.
#pragma once

#include <cstddef>

namespace shunt {
inline namespace v1 {

/// Bytes that one coherence transaction moves on x86-64 and on most AArch64 parts.
inline constexpr std::size_t cache_line = 64;

/// Bytes that two threads' data are kept apart: adjacent-line prefetchers (Intel's spatial
/// prefetcher; Intel 64 Optimization Reference Manual, 3.7.3) pull lines in pairs.
inline constexpr std::size_t quiet_distance = 2 * cache_line;

}  // namespace v1
}  // namespace shunt
