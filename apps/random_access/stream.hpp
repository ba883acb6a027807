/// The numbers of RandomAccess: x0 = 1, and each next one is the one before times t, as polynomials over GF(2), modulo
/// t^64 + t^2 + t + 1. Any of them can be had at once, so each PE begins where its updates begin.
///
/// Source: Luszczek, Dongarra, Koester et al., "Introduction to the HPC Challenge benchmark suite", LBNL-57493, 2005:
/// the rules. The code is ours.
#pragma once

#include <cstdint>

namespace shunt::apps {

class access_stream {
 public:
  /// \param before  how many numbers are behind: next() is that of index before + 1
  explicit access_stream(std::uint64_t before) noexcept : x_(at(before)) {}

  std::uint64_t next() noexcept { return x_ = times_t(x_); }

  /// The number of an index: t^index. Cost: 64 multiplications of 64 steps.
  [[nodiscard]] static std::uint64_t at(std::uint64_t index) noexcept {
    std::uint64_t product = 1, power = 2;  // t^0, and t^1, t^2, t^4 ...
    for (; index != 0; index >>= 1) {
      if (index & 1) product = times(product, power);
      power = times(power, power);
    }
    return product;
  }

 private:
  static constexpr std::uint64_t remainder = 7;  // t^64 is t^2 + t + 1

  static std::uint64_t times_t(std::uint64_t a) noexcept { return a << 1 ^ (a >> 63) * remainder; }
  static std::uint64_t times(std::uint64_t a, std::uint64_t b) noexcept {
    std::uint64_t product = 0;
    for (; b != 0; b >>= 1, a = times_t(a)) product ^= (b & 1) * a;
    return product;
  }

  std::uint64_t x_;
};

}  // namespace shunt::apps
