/// What the programs of the table are compared by.
#pragma once

#include <cstdint>

namespace bench {

/// A number that depends on all bits of two: sums of such numbers tell sets of pairs apart.
inline std::uint64_t mixed(std::uint32_t a, std::uint32_t b) noexcept {
  std::uint64_t x = std::uint64_t{a} << 32 | b;
  x = (x ^ x >> 33) * 0xff51afd7ed558ccdU;
  x = (x ^ x >> 33) * 0xc4ceb9fe1a85ec53U;
  return x ^ x >> 33;
}

}  // namespace bench
