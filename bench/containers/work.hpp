/// What the programs of table `containers` are asked: keys, words, and sums by which answers are checked.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

namespace bench {

constexpr std::uint64_t mixed(std::uint64_t x) {  // splitmix64
  x += 0x9E3779B97F4A7C15U;
  x = (x ^ (x >> 30U)) * 0xBF58476D1CE4E5B9U;
  x = (x ^ (x >> 27U)) * 0x94D049BB133111EBU;
  return x ^ (x >> 31U);
}

/// Random keys of a PE: any 64 bits, or below `bound`.
inline std::vector<std::uint64_t> random_keys(int pe, std::size_t count, std::uint64_t bound) {
  std::vector<std::uint64_t> keys(count);
  for (std::size_t i = 0; i != count; ++i) {
    const auto any = mixed((static_cast<std::uint64_t>(pe) << 40U) + i);
    keys[i] = bound == 0 ? any : any % bound;
  }
  return keys;
}

/// Words of a PE, as in a natural text: of 100,000 words the r-th is as frequent as 1 / r.
inline std::vector<std::string> zipf_words(int pe, std::size_t count) {
  constexpr std::size_t vocabulary = 100'000;
  std::vector<double> upto(vocabulary);
  double sum = 0;
  for (std::size_t r = 0; r != vocabulary; ++r) upto[r] = sum += 1.0 / static_cast<double>(r + 1);
  std::vector<std::string> words(count);
  for (std::size_t i = 0; i != count; ++i) {
    const double at = sum * 0x1p-53 * static_cast<double>(mixed((static_cast<std::uint64_t>(pe) << 40U) + i) >> 11U);
    const auto rank = static_cast<std::uint64_t>(std::lower_bound(upto.begin(), upto.end(), at) - upto.begin());
    std::uint64_t letters = mixed(rank);
    std::string& word = words[i];
    for (std::size_t n = 3 + letters % 9; n != 0; --n, letters = mixed(letters)) {
      word += static_cast<char>('a' + (letters >> 8U) % 26);
    }
    word += static_cast<char>('a' + rank % 26);
  }
  return words;
}

/// What a key counts in the sum that an answer must have.
inline std::uint64_t weight(std::uint64_t key) { return mixed(key); }
inline std::uint64_t weight(std::string_view word) {
  return std::accumulate(word.begin(), word.end(), std::uint64_t{0},
                         [](std::uint64_t h, char c) { return mixed(h ^ static_cast<unsigned char>(c)); });
}
template <class Keys>
std::uint64_t weights(const Keys& keys) {
  std::uint64_t sum = 0;
  for (const auto& key : keys) sum += weight(key);
  return sum;
}

}  // namespace bench
