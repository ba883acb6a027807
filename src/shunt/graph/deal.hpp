/// Which PE has what of a distributed array: entries are dealt out like cards, entry i to PE i % PEs, where it is
/// entry i / PEs of that PE's part.
#pragma once

#include <cstdint>

#include <shunt/base/divisor.hpp>

namespace shunt {
inline namespace v1 {
namespace graph {

/// An entry of a distributed array, by the PE that has it.
struct place {
  int pe = 0;              ///< 0..PEs-1
  std::uint32_t spot = 0;  ///< index within that PE's part

  /// Any thread. The place of an entry. \param pes  at least 1. \return a spot that fits: `global` / `pes` is below
  /// 2^32 (contract). Cost: a division.
  [[nodiscard]] static place of(std::uint64_t global, int pes) noexcept {
    const auto count = static_cast<std::uint64_t>(pes);
    return {static_cast<int>(global % count), static_cast<std::uint32_t>(global / count)};
  }
  /// Any thread. The number of the entry: the inverse of of(). Cost: a multiplication.
  [[nodiscard]] std::uint64_t global(int pes) const noexcept {
    return std::uint64_t{spot} * static_cast<std::uint64_t>(pes) + static_cast<std::uint64_t>(pe);
  }
};

/// The same deal for numbers below 2^32, as one PE sees it. A multiplication finds the PE, instead of a division.
class dealt {
 public:
  /// \param pe   this PE, 0..pes-1. \param pes  at least 1
  dealt(int pe, int pes) noexcept : pe_(static_cast<std::uint32_t>(pe)), divide_(static_cast<std::uint64_t>(pes)) {}

  /// Any thread. The place of an entry. Cost: two multiplications.
  [[nodiscard]] place where(std::uint32_t global) const noexcept {
    const auto spot = static_cast<std::uint32_t>(divide_.quotient(global));
    return {static_cast<int>(global - spot * pes()), spot};
  }
  /// Any thread. The number of the entry at a spot of this PE. Cost: a multiplication.
  [[nodiscard]] std::uint32_t global(std::uint32_t spot) const noexcept { return spot * pes() + pe_; }
  /// Any thread. How many of the entries 0..total-1 this PE has. \param total  at most 2^32. Cost: a division.
  [[nodiscard]] std::uint32_t count(std::uint64_t total) const noexcept {
    return static_cast<std::uint32_t>((total + pes() - 1 - pe_) / pes());
  }

 private:
  [[nodiscard]] std::uint32_t pes() const noexcept { return static_cast<std::uint32_t>(divide_.by()); }

  std::uint32_t pe_;
  divisor divide_;  // by the number of PEs
};

}  // namespace graph
}  // namespace v1
}  // namespace shunt
