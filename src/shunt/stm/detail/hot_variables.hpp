/// At which variables transactions are lost most.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <shunt/stm/detail/word.hpp>

namespace shunt {
inline namespace v1 {
namespace stm::detail {

/// A variable keeps its place while it is noted more often than others that fall on the same one (the majority's vote
/// of Boyer and Moore, a place each). Numbers are about right. All relaxed: people look at them.
class hot_table {
 public:
  struct place {
    std::atomic<const void*> who{nullptr};
    std::atomic<std::uint64_t> times{0};
    std::atomic<std::uint64_t> lead{0};
  };

  void note(const variable* v) noexcept {
    place& p = places_[(reinterpret_cast<std::uintptr_t>(v) >> 4) * 0x9E3779B97F4A7C15U >> 58];
    if (p.who.load(std::memory_order_relaxed) == v) {
      p.times.fetch_add(1, std::memory_order_relaxed);
      p.lead.fetch_add(1, std::memory_order_relaxed);
    } else if (const auto lead = p.lead.load(std::memory_order_relaxed); lead > 0) {
      p.lead.store(lead - 1, std::memory_order_relaxed);
    } else {
      p.who.store(v, std::memory_order_relaxed);
      p.times.store(1, std::memory_order_relaxed);
      p.lead.store(1, std::memory_order_relaxed);
    }
  }
  [[nodiscard]] const auto& places() const noexcept { return places_; }

 private:
  std::array<place, 64> places_;
};
inline constinit hot_table hot_variables{};

}  // namespace stm::detail
}  // namespace v1
}  // namespace shunt
