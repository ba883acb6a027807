#include <atomic>
#include <bit>
#include <cstdint>
#include <shunt/stm/structures/detail/skip_list.hpp>

namespace shunt {
inline namespace v1 {
namespace stm::detail {

/// SplitMix64's output function, on a counter of each thread. Source: Steele, Lea, Flood: Fast splittable pseudorandom
/// number generators, OOPSLA 2014, doi:10.1145/2660193.2660195.
[[gnu::noinline]] int random_height() noexcept {
  constexpr std::uint64_t golden = 0x9E3779B97F4A7C15U;
  static constinit std::atomic<std::uint64_t> threads{0};
  // Threads draw from distant parts of one sequence. relaxed: a thread needs a number of its own, and nothing else.
  // Not inlined, so that no address of a thread-local variable is kept across a switch.
  static thread_local std::uint64_t state = threads.fetch_add(1, std::memory_order_relaxed) << 40;
  std::uint64_t z = state += golden;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
  z ^= z >> 31;
  constexpr std::uint64_t enough = std::uint64_t{1} << (2 * (levels_at_most - 1));
  return 1 + std::countr_zero(z | enough) / 2;
}

}  // namespace stm::detail
}  // namespace v1
}  // namespace shunt
