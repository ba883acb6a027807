/// The clock of the model: whole picoseconds, so that sums have no order and a seed gives the same bytes everywhere.
#pragma once

#include <cstdint>

namespace shunt::simulate {

/// A point of virtual time, or a length of it. 2^63 of them are 106 days.
using picoseconds = std::int64_t;

inline constexpr picoseconds nanosecond = 1000;
inline constexpr picoseconds second = 1'000'000'000'000;

/// a * b / c without overflow between, rounded down. \param c  more than 0; the result fits
[[nodiscard]] constexpr std::int64_t scaled(std::int64_t a, std::int64_t b, std::int64_t c) noexcept {
  __extension__ using wide = __int128;
  return static_cast<std::int64_t>(static_cast<wide>(a) * b / c);
}

}  // namespace shunt::simulate
