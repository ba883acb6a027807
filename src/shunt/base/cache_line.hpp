/// The unit in which memory moves between cores.
#pragma once

#include <cstddef>
#include <cstdint>

namespace shunt {
inline namespace v1 {

/// Bytes that one coherence transaction moves on x86-64 and on most AArch64 parts.
inline constexpr std::size_t cache_line = 64;

/// Bytes between the data of two threads: adjacent-line prefetchers (Intel's spatial prefetcher; Intel 64 Optimization
/// Reference Manual, 3.7.3) pull lines in pairs.
inline constexpr std::size_t quiet_distance = 2 * cache_line;

/// Any thread. Fetches a line in order to write it. Any address is legal; there is no effect but on time.
inline void prefetch_to_write(std::uintptr_t address) noexcept {
#if defined(__x86_64__)
  // In assembler: compilers emit it only for CPUs that are known to have it. To other CPUs it is a no-op.
  asm volatile("prefetchw %0" : : "m"(*reinterpret_cast<const char*>(address)));
#else
  __builtin_prefetch(reinterpret_cast<const void*>(address), 1);
#endif
}

}  // namespace v1
}  // namespace shunt
