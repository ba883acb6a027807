/// How the elements of a distributed array lie on the PEs.
///
///   cyclic              0 1 2 | 3 4 5 | ...    element i on PE i % PEs: dealt out like cards
///   blocked             each PE has one block of neighbours, the last ones perhaps a shorter one, or none
///   block_cyclic(b)     blocks of b neighbours, dealt out like cards
///
/// The cyclic layouts find an element's PE and its index there by multiplications: a division by the number of PEs
/// takes longer than a message. A blocked one divides: its blocks may be too long for that.
///
/// Source of the names: High Performance Fortran, DISTRIBUTE (CYCLIC), (BLOCK), (CYCLIC(b)).
#pragma once

#include <algorithm>
#include <cstdint>

#include <shunt/base/divisor.hpp>

namespace shunt {
inline namespace v1 {
namespace pgas {

/// Where an element is.
struct element_place {
  int pe = 0;              ///< 0..PEs-1
  std::uint32_t spot = 0;  ///< its index in that PE's part
};

/// Element i is on PE i % PEs.
class cyclic {
 public:
  /// For the array: `size` elements on so many PEs.
  void place_on(std::uint64_t size, int pes) noexcept {
    size_ = size;
    pes_ = divisor(static_cast<std::uint64_t>(pes));
  }
  /// The place of element i, 0..size-1.
  [[nodiscard]] element_place where(std::uint64_t i) const noexcept {
    const auto spot = pes_.quotient(i);
    return {static_cast<int>(i - spot * pes_.by()), static_cast<std::uint32_t>(spot)};
  }
  /// The element at a PE's spot.
  [[nodiscard]] std::uint64_t element(int pe, std::uint64_t spot) const noexcept {
    return spot * pes_.by() + static_cast<std::uint64_t>(pe);
  }
  /// Elements of a PE.
  [[nodiscard]] std::uint64_t count(int pe) const noexcept { return below(pe, size_); }
  /// Elements of a PE before element i, 0..size. They lie at spots 0, 1, ... Cost: a division.
  [[nodiscard]] std::uint64_t below(int pe, std::uint64_t i) const noexcept {
    const auto p = static_cast<std::uint64_t>(pe);
    return i / pes_.by() + (p < i % pes_.by() ? 1 : 0);
  }

 private:
  std::uint64_t size_ = 0;
  divisor pes_{1};
};

/// Each PE has one block: PE p the elements from p * block on, where block is size / PEs, rounded up.
class blocked {
 public:
  /// As cyclic's.
  void place_on(std::uint64_t size, int pes) noexcept {
    size_ = size;
    block_ = std::max<std::uint64_t>(1, (size + static_cast<std::uint64_t>(pes) - 1) / static_cast<std::uint64_t>(pes));
  }
  /// As cyclic's. Cost: a division.
  [[nodiscard]] element_place where(std::uint64_t i) const noexcept {
    const auto pe = i / block_;
    return {static_cast<int>(pe), static_cast<std::uint32_t>(i - pe * block_)};
  }
  /// As cyclic's.
  [[nodiscard]] std::uint64_t element(int pe, std::uint64_t spot) const noexcept {
    return static_cast<std::uint64_t>(pe) * block_ + spot;
  }
  /// As cyclic's.
  [[nodiscard]] std::uint64_t count(int pe) const noexcept { return below(pe, size_); }
  /// As cyclic's.
  [[nodiscard]] std::uint64_t below(int pe, std::uint64_t i) const noexcept {
    const auto first = std::min(i, static_cast<std::uint64_t>(pe) * block_);
    return std::min(block_, i - first);
  }

 private:
  std::uint64_t size_ = 0;
  std::uint64_t block_ = 1;
};

/// Blocks of so many neighbours are dealt out like cards.
class block_cyclic {
 public:
  /// \param block  elements of a block, 1..65,536 (contract)
  explicit block_cyclic(std::uint32_t block) noexcept : block_(block) {}
  /// As cyclic's.
  void place_on(std::uint64_t size, int pes) noexcept {
    size_ = size;
    pes_ = divisor(static_cast<std::uint64_t>(pes));
  }
  /// As cyclic's.
  [[nodiscard]] element_place where(std::uint64_t i) const noexcept {
    const auto block = block_.quotient(i), round = pes_.quotient(block);
    return {static_cast<int>(block - round * pes_.by()),
            static_cast<std::uint32_t>(round * block_.by() + (i - block * block_.by()))};
  }
  /// As cyclic's.
  [[nodiscard]] std::uint64_t element(int pe, std::uint64_t spot) const noexcept {
    const auto round = spot / block_.by();
    return (round * pes_.by() + static_cast<std::uint64_t>(pe)) * block_.by() + spot % block_.by();
  }
  /// As cyclic's.
  [[nodiscard]] std::uint64_t count(int pe) const noexcept { return below(pe, size_); }
  /// As cyclic's.
  [[nodiscard]] std::uint64_t below(int pe, std::uint64_t i) const noexcept {
    const auto p = static_cast<std::uint64_t>(pe);
    const auto whole = i / block_.by(), rest = i % block_.by();
    const auto blocks = whole / pes_.by() + (p < whole % pes_.by() ? 1 : 0);
    return blocks * block_.by() + (p == whole % pes_.by() ? rest : 0);
  }

 private:
  std::uint64_t size_ = 0;
  divisor block_;
  divisor pes_{1};
};

}  // namespace pgas
}  // namespace v1
}  // namespace shunt
