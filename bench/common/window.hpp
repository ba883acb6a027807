/// How many instructions a processor holds in flight: its reorder buffer, as this program finds it at this moment.
///
/// Processors whose cores run two hardware threads may give each thread half of the buffer while both run (AMD's do).
/// A virtual machine does not see the other thread, which may run another machine; its own speed then changes from
/// minute to minute, most of all in programs that overlap the end of one computation with the beginning of the next.
///
/// The way of Henry Wong, "Measuring Reorder Buffer Capacity" (2013): two loads that do not depend on each other, both
/// of them misses, stand `n` cheap instructions apart. While both fit into the buffer their waits overlap, and a pair
/// takes one miss; once they do not fit, it takes two. The instructions between are `pxor` of a register with itself:
/// each takes a place in the buffer, but neither a physical register nor an execution unit.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace bench {

#if defined(__x86_64__)

/// Where the chains of loads lead: memory that no cache holds, all zeros, so that an index depends on the value read
/// before it, and yet needs no permutation to be made.
class miss_memory {
 public:
  miss_memory() : words_(bytes / sizeof(std::uint64_t), 0) {}

  /// Nanoseconds a pair of loads, each of which follows `Between` cheap instructions: the least of a few runs, since
  /// an interrupt makes a run longer, and nothing makes one shorter.
  template <int Between>
  double pair_ns() {
    using clock = std::chrono::steady_clock;
    double least = 1e9;
    for (int run = 0; run < runs; ++run) {
      const auto start = clock::now();
      for (int pair = 0; pair < pairs; ++pair) {
        first_ = next(first_, 1);
        asm volatile(".rept %c0\n\tpxor %%xmm15, %%xmm15\n\t.endr" : : "i"(Between) : "xmm15");
        second_ = next(second_, 3);
        asm volatile(".rept %c0\n\tpxor %%xmm15, %%xmm15\n\t.endr" : : "i"(Between) : "xmm15");
      }
      const std::chrono::duration<double, std::nano> took = clock::now() - start;
      least = std::min(least, took.count() / pairs);
    }
    return least;
  }

 private:
  static constexpr std::size_t bytes = std::size_t{1} << 27;
  static constexpr int runs = 5;
  static constexpr int pairs = 1000;

  /// A generator of indices with the period of the memory; the value read, zero, takes part in each.
  [[nodiscard]] std::uint64_t next(std::uint64_t at, std::uint64_t step) const {
    const volatile std::uint64_t& word = words_[at & (words_.size() - 1)];
    return at * 6364136223846793005 + 2 * step + 1442695040888963406 + word;
  }

  std::vector<std::uint64_t> words_;
  std::uint64_t first_ = 1, second_ = 2;
};

/// Instructions in flight on the processor that runs the caller, in steps of 16; 0 where no step is seen, as in an
/// emulator. Takes some 50 ms, and 128 MB that are freed again.
inline int instruction_window() {
  constexpr int step = 16;
  constexpr int counts = 40;  // to 640: more than today's processors have
  miss_memory memory;
  std::array<double, counts> took{};
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    ((took[I] = memory.pair_ns<step* static_cast<int>(I + 1)>()), ...);
  }(std::make_index_sequence<counts>{});
  const auto [least, most] = std::minmax_element(took.begin(), took.end());
  if (*most < 1.5 * *least) return 0;
  const double between = (*least + *most) / 2;
  const auto past = std::find_if(took.begin(), took.end(), [&](double ns) { return ns > between; });
  return step * static_cast<int>(past - took.begin());
}

#else

/// Not measured on this kind of processor.
inline int instruction_window() { return 0; }

#endif

}  // namespace bench
