/// Counts of times, by size, in fixed memory: every time to within 1.6 %, whatever its order of magnitude.
///
/// A time is counted under its first 7 significant bits: the buckets of one power of two are of equal width.
/// Source: Tene, HdrHistogram (log-linear buckets).
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace shunt {
inline namespace v1 {

/// One thread records; any thread may read meanwhile, and sees a moment's counts. 30 KB.
class latency_histogram {
 public:
  /// The recording thread. A negative time counts as 0. Cost: some ns.
  void record(std::chrono::nanoseconds time) noexcept {
    const auto ns = static_cast<std::uint64_t>(std::max<std::int64_t>(time.count(), 0));
    add(counts_[bucket(ns)]);
    add(total_);
    // relaxed, both: one writer.
    if (ns > most_.load(std::memory_order_relaxed)) most_.store(ns, std::memory_order_relaxed);
  }

  /// Any thread. Times recorded so far.
  [[nodiscard]] std::uint64_t count() const noexcept {
    return total_.load(std::memory_order_relaxed);  // relaxed: a number of its own
  }
  /// Any thread. The longest time; 0 if there are none.
  [[nodiscard]] std::chrono::nanoseconds max() const noexcept {
    // relaxed: a number of its own
    return std::chrono::nanoseconds(static_cast<std::int64_t>(most_.load(std::memory_order_relaxed)));
  }

  /// Any thread. The least time that at least `share` of all times do not exceed; 0 if there are none.
  /// \param share  0 to 1: 0.5 for the median, 0.99
  [[nodiscard]] std::chrono::nanoseconds percentile(double share) const noexcept {
    const auto all = static_cast<double>(count());
    double seen = 0;
    for (std::size_t i = 0; i != counts_.size(); ++i) {
      seen += static_cast<double>(counts_[i].load(std::memory_order_relaxed));  // relaxed: a number of its own
      if (seen >= share * all && seen > 0) {
        return std::min(max(), std::chrono::nanoseconds(static_cast<std::int64_t>(last_of(i))));
      }
    }
    return max();
  }

 private:
  static constexpr unsigned fine_bits = 6;
  static constexpr std::uint64_t fine = std::uint64_t{1} << fine_bits;

  static constexpr std::size_t bucket(std::uint64_t ns) noexcept {
    if (ns < fine) return static_cast<std::size_t>(ns);
    const auto shift = static_cast<unsigned>(std::bit_width(ns)) - fine_bits - 1;
    return static_cast<std::size_t>((shift + 1) * fine + ((ns >> shift) - fine));
  }
  static constexpr std::uint64_t last_of(std::size_t at) noexcept {
    if (at < fine) return at;
    const auto shift = static_cast<unsigned>(at / fine) - 1;
    return ((at % fine + fine + 1) << shift) - 1;
  }
  static void add(std::atomic<std::uint64_t>& counter) noexcept {
    counter.store(counter.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);  // relaxed: one writer
  }

  // relaxed in every function: each count is a number of its own, and one thread writes it.
  std::array<std::atomic<std::uint64_t>, (64 - fine_bits) * fine> counts_{};
  std::atomic<std::uint64_t> total_{0};
  std::atomic<std::uint64_t> most_{0};
};

}  // namespace v1
}  // namespace shunt
