/// Division by a number that is known late, by a multiplication.
#pragma once

#include <cstdint>

namespace shunt {
inline namespace v1 {

/// A divisor. Invariant: quotient(n) is n / by(), rounded down, for each n with n * by() below 2^63.
///
/// Source: Granlund, Montgomery: Division by invariant integers using multiplication, PLDI 1994,
/// doi:10.1145/178243.178249.
class divisor {
 public:
  /// \param by  at least 1 (contract). Cost: a division.
  explicit divisor(std::uint64_t by) noexcept : by_(by), reciprocal_(((std::uint64_t{1} << 63) - 1) / by + 1) {}

  /// Exact: the reciprocal is too great by less than 1, which adds less than n / 2^63 to the quotient.
  /// \param n  below 2^63 / by(); of a greater one the result is some number. Cost: a multiplication.
  [[nodiscard]] std::uint64_t quotient(std::uint64_t n) const noexcept {
    __extension__ using wide = unsigned __int128;
    return static_cast<std::uint64_t>((static_cast<wide>(reciprocal_) * (2 * n)) >> 64);  // the upper word, unshifted
  }
  /// What it divides by.
  [[nodiscard]] std::uint64_t by() const noexcept { return by_; }

 private:
  std::uint64_t by_;
  std::uint64_t reciprocal_;
};

}  // namespace v1
}  // namespace shunt
