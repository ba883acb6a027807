/// The processor's own time, and its hint for waiting loops.
#pragma once

#include <chrono>
#include <cstdint>

namespace shunt {
inline namespace v1 {

/// Any thread. Counts at a constant, unspecified rate (time-stamp counter, CNTVCT_EL0; else nanoseconds). For intervals
/// on one CPU; not ordered with the instructions around it. Cost: about 10 ns.
[[nodiscard]] inline std::uint64_t ticks() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
  std::uint64_t count;
  asm volatile("mrs %0, cntvct_el0" : "=r"(count));
  return count;
#else
  return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
#endif
}

/// Any thread. Tells the core that this loop waits: the core yields resources to its sibling thread, and leaves the
/// loop without a memory-order violation. Cost: 5 to 140 cycles, by model.
inline void relax() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();  // as _mm_pause(), whose header takes 0.3 s to compile
#elif defined(__aarch64__)
  asm volatile("isb");  // `yield` is a no-op on most cores; isb waits for some 10 ns
#endif
}

}  // namespace v1
}  // namespace shunt
