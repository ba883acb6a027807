/// The variables at which most attempts are lost.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <shunt/stm/detail/engine/word.hpp>

namespace shunt {
inline namespace v1 {
namespace stm::detail {

/// A variable keeps its slot while it is noted more often than the others that hash to it (the majority vote of Boyer
/// and Moore, one for each slot). The numbers are approximate: where two threads note at once, a slot may lose a note,
/// or count it for the other variable.
class hot_table {
 public:
  struct slot {
    std::atomic<const void*> address{nullptr};
    std::atomic<std::uint64_t> times{0};
    std::atomic<std::uint64_t> lead{0};
  };

  /// Any thread: an attempt was lost at `v`. relaxed, all: for statistics; no other data depends on a slot, and no
  /// thread follows its address.
  void note(const variable* v) noexcept {
    slot& s = slots_[hash_of<bits>(v)];
    if (s.address.load(std::memory_order_relaxed) == v) {
      s.times.fetch_add(1, std::memory_order_relaxed);
      s.lead.fetch_add(1, std::memory_order_relaxed);
    } else if (const auto lead = s.lead.load(std::memory_order_relaxed); lead > 0) {
      s.lead.store(lead - 1, std::memory_order_relaxed);
    } else {
      s.address.store(v, std::memory_order_relaxed);
      s.times.store(1, std::memory_order_relaxed);
      s.lead.store(1, std::memory_order_relaxed);
    }
  }
  [[nodiscard]] const auto& slots() const noexcept { return slots_; }

 private:
  static constexpr int bits = 6;
  std::array<slot, 1 << bits> slots_;
};
inline constinit hot_table hot_variables{};

}  // namespace stm::detail
}  // namespace v1
}  // namespace shunt
