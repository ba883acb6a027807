/// Which workers sleep: one bit a worker.
///
/// A sleeper sets its bit before it looks for work the last time. A thread that brings work for any worker claims one
/// sleeper by clearing its bit. Pair `asleep`, see DESIGN.md, "No worker sleeps on work".
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace shunt {
inline namespace v1 {
namespace sched {
namespace detail {

class sleepers {
 public:
  explicit sleepers(int workers) : words_(static_cast<std::size_t>(workers + 63) / 64) {}

  /// That worker. seq_cst: pair `asleep`.
  void enter(int worker) noexcept { word(worker).fetch_or(bit(worker), std::memory_order_seq_cst); }
  /// That worker.
  void leave(int worker) noexcept {
    // relaxed: a claim that comes too late costs one spurious unpark.
    word(worker).fetch_and(~bit(worker), std::memory_order_relaxed);
  }
  /// Any thread. A look.
  [[nodiscard]] bool none() const noexcept {
    for (const auto& word : words_) {
      if (word.load(std::memory_order_relaxed) != 0) return false;  // relaxed: a caller that misses one looks again
    }
    return true;
  }
  /// Any thread. \return a worker that slept, which the caller must now unpark; -1 for none.
  [[nodiscard]] int claim() noexcept {
    for (std::size_t i = 0; i < words_.size(); ++i) {
      auto seen = words_[i].load(std::memory_order_seq_cst);  // pair `asleep`: after the caller's push
      while (seen != 0) {
        const auto lowest = seen & (~seen + 1);
        // acq_rel: the bit is the claim; the parker and the inbox carry what the two threads wrote.
        const auto before = words_[i].fetch_and(~lowest, std::memory_order_acq_rel);
        if (before & lowest) return static_cast<int>(64 * i) + __builtin_ctzll(lowest);
        seen = before & ~lowest;
      }
    }
    return -1;
  }

 private:
  static std::uint64_t bit(int worker) noexcept { return std::uint64_t{1} << (worker % 64); }
  std::atomic<std::uint64_t>& word(int worker) noexcept { return words_[static_cast<std::size_t>(worker / 64)]; }
  std::vector<std::atomic<std::uint64_t>> words_;
};

}  // namespace detail
}  // namespace sched
}  // namespace v1
}  // namespace shunt
