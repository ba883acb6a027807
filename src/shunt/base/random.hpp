/// Random numbers that depend on a seed and a position, and on nothing else.
///
/// A sequential generator makes a program's input depend on how many processing elements drew from it. A counter-based
/// one maps (seed, stream, index) to a number: any PE computes the number at any position, without state and without
/// communication.
///
/// Source: Salmon, Moraes, Dror, Shaw: Parallel random numbers: as easy as 1, 2, 3. SC 2011,
/// doi:10.1145/2063384.2063405. Philox4x32-10, tested against the authors' known answers.
#pragma once

#include <array>
#include <cstdint>

namespace shunt {
inline namespace v1 {

/// The bijection itself: ten rounds on four 32-bit words under a key of two.
[[nodiscard]] constexpr std::array<std::uint32_t, 4> philox4x32_10(std::array<std::uint32_t, 4> counter,
                                                                   std::array<std::uint32_t, 2> key) noexcept {
  constexpr std::uint64_t multiplier[2] = {0xD2511F53U, 0xCD9E8D57U};
  constexpr std::uint32_t weyl[2] = {0x9E3779B9U, 0xBB67AE85U};  // golden ratio, sqrt(3) - 1
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t a = multiplier[0] * counter[0];
    const std::uint64_t b = multiplier[1] * counter[2];
    counter = {static_cast<std::uint32_t>(b >> 32) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(b),
               static_cast<std::uint32_t>(a >> 32) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(a)};
    key[0] += weyl[0];
    key[1] += weyl[1];
  }
  return counter;
}

/// Numbers addressed by position. A value type of two words; any thread may read a shared one.
///
/// ```cpp
/// constexpr shunt::counter_random numbers(seed);
/// const auto slot = numbers.below(i, table_size);  // the same on every PE, whatever their number
/// ```
class counter_random {
 public:
  /// \param seed    of the whole experiment
  /// \param stream  numbers independent sequences of one seed
  explicit constexpr counter_random(std::uint64_t seed, std::uint64_t stream = 0) noexcept
      : seed_(seed), stream_(stream) {}

  /// Both numbers of one block: those at positions 2 * `number` and 2 * `number` + 1. A caller that reads in order pays
  /// half the cost a number.
  [[nodiscard]] constexpr std::array<std::uint64_t, 2> block(std::uint64_t number) const noexcept {
    const auto out = philox4x32_10({low(number), high(number), low(stream_), high(stream_)}, {low(seed_), high(seed_)});
    return {join(out[0], out[1]), join(out[2], out[3])};
  }

  /// 64 uniform bits. Cost: one block, some 10 to 20 ns, no memory traffic.
  [[nodiscard]] constexpr std::uint64_t at(std::uint64_t index) const noexcept { return block(index / 2)[index % 2]; }

  /// A number in [0, `bound`), by multiply-high, without a division. A value's probability is off by at most
  /// bound / 2^64 of itself. \param bound  at least 1; 0 yields 0
  [[nodiscard]] constexpr std::uint64_t below(std::uint64_t index, std::uint64_t bound) const noexcept {
    __extension__ using wide = unsigned __int128;
    return static_cast<std::uint64_t>((static_cast<wide>(at(index)) * bound) >> 64);
  }

  /// A number in [0, 1): 53 uniform bits, every value exact.
  [[nodiscard]] constexpr double unit(std::uint64_t index) const noexcept {
    return static_cast<double>(at(index) >> 11) * 0x1p-53;
  }

 private:
  static constexpr std::uint32_t low(std::uint64_t value) noexcept { return static_cast<std::uint32_t>(value); }
  static constexpr std::uint32_t high(std::uint64_t value) noexcept { return static_cast<std::uint32_t>(value >> 32); }
  static constexpr std::uint64_t join(std::uint32_t lower, std::uint32_t upper) noexcept {
    return (static_cast<std::uint64_t>(upper) << 32) | lower;
  }

  std::uint64_t seed_;
  std::uint64_t stream_;
};

}  // namespace v1
}  // namespace shunt
