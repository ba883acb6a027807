/// The hash of a key: which PE has it, and where it is there.
///
/// Source of the mixing step, the folded product of two words: Wang Yi, wyhash, in the public domain (the idea; this is
/// another function).
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>

namespace shunt {
inline namespace v1 {
namespace pgas {

namespace detail {

/// High and low half of a product, folded: each bit of the result depends on all bits of `a`, for an odd b.
[[nodiscard]] constexpr std::uint64_t folded_product(std::uint64_t a, std::uint64_t b) noexcept {
  __extension__ using wide = unsigned __int128;
  const wide product = static_cast<wide>(a) * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}
inline constexpr std::uint64_t hash_multiplier = 0x9FB21C651E98DF25U;  // odd, half of its bits set
inline constexpr std::uint64_t hash_start = 0x243F6A8885A308D3U;       // pi

/// At most 16 bytes as two words, which together with the size say what they are.
struct short_words {
  static constexpr std::size_t most = 16;
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  bool operator==(const short_words&) const = default;
};
/// By loads of a fixed size that overlap, and from 4 bytes on without a branch: sizes of words are not to be guessed.
/// \param size  0..16
[[nodiscard]] [[gnu::always_inline]] inline short_words words_of(const void* bytes, std::size_t size) noexcept {
  const auto* const at = static_cast<const unsigned char*>(bytes);
  if (size >= 4) [[likely]] {
    const auto four = [](const unsigned char* from) {
      std::uint32_t word;
      std::memcpy(&word, from, 4);
      return std::uint64_t{word};
    };
    const std::size_t inwards = (size >> 3U) << 2U;  // 0 for less than 8 bytes, then 4, for 16 bytes 8
    const auto* const end = at + size - 4;
    return {four(at) << 32U | four(at + inwards), four(end) << 32U | four(end - inwards)};
  }
  if (size == 0) return {};
  return {std::uint64_t{at[0]} << 16U | std::uint64_t{at[size / 2]} << 8U | at[size - 1], 0};
}
/// Writes the bytes that words_of() has read.
inline void write_words(const short_words& words, void* bytes, std::size_t size) noexcept {
  auto* const at = static_cast<unsigned char*>(bytes);
  if (size >= 4) {
    const auto four = [](unsigned char* to, std::uint64_t word) {
      const auto half = static_cast<std::uint32_t>(word);
      std::memcpy(to, &half, 4);
    };
    const std::size_t inwards = (size >> 3U) << 2U;
    auto* const end = at + size - 4;
    four(at, words.first >> 32U);
    four(at + inwards, words.first);
    four(end, words.last >> 32U);
    four(end - inwards, words.last);
  } else if (size != 0) {
    at[0] = static_cast<unsigned char>(words.first >> 16U);
    at[size / 2] = static_cast<unsigned char>(words.first >> 8U);
    at[size - 1] = static_cast<unsigned char>(words.first);
  }
}

/// Of more than 16 bytes in memory.
[[nodiscard]] inline std::uint64_t hash_of_many_bytes(const void* bytes, std::size_t size) noexcept {
  const auto* at = static_cast<const unsigned char*>(bytes);
  std::uint64_t hash = folded_product(size ^ hash_start, hash_multiplier);
  for (; size >= 8; at += 8, size -= 8) {
    std::uint64_t word;
    std::memcpy(&word, at, 8);
    hash = folded_product(hash ^ word, hash_multiplier);
  }
  // What is left, up to 7 bytes, by loads of a fixed size that overlap: as 8 bits a byte, in an order of their own.
  std::uint64_t rest = 0;
  if (size >= 4) {
    std::uint32_t first, last;
    std::memcpy(&first, at, 4);
    std::memcpy(&last, at + size - 4, 4);
    rest = std::uint64_t{first} << 32U | last;
  } else if (size != 0) {
    rest = std::uint64_t{at[0]} << 16U | std::uint64_t{at[size / 2]} << 8U | at[size - 1];
  }
  return folded_product(hash ^ rest ^ hash_start, hash_multiplier);
}
/// Of at most 16 bytes.
[[nodiscard]] [[gnu::always_inline]] inline std::uint64_t hash_of_words(const short_words& words,
                                                                        std::size_t size) noexcept {
  const auto of_size = folded_product(size ^ hash_start, hash_multiplier);
  const auto of_first = folded_product(of_size ^ words.first, hash_multiplier);
  return folded_product(of_first ^ words.last ^ hash_start, hash_multiplier);
}
/// Of bytes in memory.
[[nodiscard]] [[gnu::always_inline]] inline std::uint64_t hash_of_bytes(const void* bytes, std::size_t size) noexcept {
  if (size > short_words::most) return hash_of_many_bytes(bytes, size);
  return hash_of_words(words_of(bytes, size), size);
}

}  // namespace detail

/// The hash that containers take unless they are given another: of integers, enumerations, strings, and of plain
/// structs each value of which has one representation (no padding, no floating point number). The same in each process
/// of one job. Keys can be chosen so that they collide.
/// Another one, for another key: a struct without members, `std::uint64_t operator()(const K&) const noexcept`, all 64
/// bits of which vary.
template <class K>
struct key_hash {
  static_assert(std::has_unique_object_representations_v<K>,
                "this key needs a hash of its own, as the container's Hash: equal values may differ in their bytes");
  /// All 64 bits vary. Cost: a multiplication for eight bytes, and one more.
  [[nodiscard]] std::uint64_t operator()(const K& key) const noexcept {
    if constexpr (sizeof(K) <= sizeof(std::uint64_t)) {
      std::uint64_t word = 0;
      std::memcpy(&word, &key, sizeof key);
      return detail::folded_product(detail::folded_product(word ^ detail::hash_start, detail::hash_multiplier) ^ word,
                                    detail::hash_multiplier);
    } else {
      return detail::hash_of_bytes(&key, sizeof key);
    }
  }
};
/// Of texts.
template <>
struct key_hash<std::string> {
  /// As above.
  [[nodiscard]] std::uint64_t operator()(std::string_view key) const noexcept {
    return detail::hash_of_bytes(key.data(), key.size());
  }
};

}  // namespace pgas
}  // namespace v1
}  // namespace shunt
