/// Which PE has what of a distributed array: entries are dealt out like cards, entry i to PE i % PEs, where it is
/// entry i / PEs of that PE's part.
#pragma once

#include <cstdint>

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
  dealt(int pe, int pes) noexcept
      : pe_(static_cast<std::uint32_t>(pe)),
        pes_(static_cast<std::uint32_t>(pes)),
        reciprocal_(((std::uint64_t{1} << 63) - 1) / pes_ + 1) {}

  /// Any thread. The place of an entry. Cost: two multiplications.
  [[nodiscard]] place where(std::uint32_t global) const noexcept {
    // Exact: the reciprocal is too great by less than 1, which adds less than 2^-31 to the quotient.
    __extension__ using wide = unsigned __int128;
    const auto spot = static_cast<std::uint32_t>((static_cast<wide>(reciprocal_) * global) >> 63);
    return {static_cast<int>(global - spot * pes_), spot};
  }
  /// Any thread. The number of the entry at a spot of this PE. Cost: a multiplication.
  [[nodiscard]] std::uint32_t global(std::uint32_t spot) const noexcept { return spot * pes_ + pe_; }
  /// Any thread. How many of the entries 0..total-1 this PE has. \param total  at most 2^32. Cost: a division.
  [[nodiscard]] std::uint32_t count(std::uint64_t total) const noexcept {
    return static_cast<std::uint32_t>((total + pes_ - 1 - pe_) / pes_);
  }

 private:
  std::uint32_t pe_;
  std::uint32_t pes_;
  std::uint64_t reciprocal_;
};

}  // namespace graph
}  // namespace v1
}  // namespace shunt
