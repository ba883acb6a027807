/// The sorting of one PE's items.
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <type_traits>
#include <vector>

namespace shunt {
inline namespace v1 {
namespace pgas {
namespace detail {

/// What two items are compared by, where only a part of each is.
struct whole_item {
  template <class T>
  const T& operator()(const T& item) const noexcept {
    return item;
  }
};

/// Whether Less is the order of integers.
template <class Key, class Less>
inline constexpr bool by_digits = std::integral<Key> && sizeof(Key) <= 8 &&
                                  (std::is_same_v<Less, std::less<Key>> || std::is_same_v<Less, std::less<>>);

/// An integer as an unsigned one of the same order.
template <std::integral Key>
[[nodiscard]] constexpr std::uint64_t digits_of(Key key) noexcept {
  if constexpr (std::is_same_v<Key, bool>) {
    return key ? 1 : 0;
  } else {
    using digits = std::make_unsigned_t<Key>;
    constexpr auto sign = std::is_signed_v<Key> ? digits(digits{1} << (8 * sizeof(Key) - 1)) : digits{0};
    return static_cast<digits>(static_cast<digits>(key) ^ sign);
  }
}

/// By bytes, from the lowest; bytes that are the same in all keys are passed over. Stable.
/// Cost: a pass to count, and a copy of all items for each byte that differs.
/// Source: Knuth, The Art of Computer Programming, volume 3, 5.2.5, algorithm R.
template <class T, class KeyOf>
void sort_by_digits(std::vector<T>& items, KeyOf key_of) {
  using key = std::remove_cvref_t<decltype(key_of(items[0]))>;
  constexpr std::size_t bytes = sizeof(key);
  std::vector<std::array<std::size_t, 256>> counts(bytes);
  for (const T& item : items) {
    auto digits = digits_of(key_of(item));
    for (std::size_t b = 0; b != bytes; ++b, digits >>= 8U) ++counts[b][digits & 0xFFU];
  }
  std::vector<T> other(items.size());
  for (std::size_t b = 0; b != bytes; ++b) {
    auto& place = counts[b];
    if (std::ranges::find(place, items.size()) != place.end()) continue;  // the same in all
    std::size_t sum = 0;
    for (std::size_t& p : place) p = (sum += p) - p;
    for (const T& item : items) other[place[(digits_of(key_of(item)) >> (8 * b)) & 0xFFU]++] = item;
    items.swap(other);
  }
}

/// \param key_of  of an item, what `less` compares
template <class T, class Less, class KeyOf>
void sort_local(std::vector<T>& items, Less less, KeyOf key_of) {
  using key = std::remove_cvref_t<decltype(key_of(items[0]))>;
  constexpr std::size_t worthwhile = 1024;  // items: below it the counting takes longer
  if constexpr (by_digits<key, Less> && std::is_default_constructible_v<T>) {
    if (items.size() >= worthwhile) return sort_by_digits(items, key_of);
  }
  std::sort(items.begin(), items.end(), [&](const T& a, const T& b) { return less(key_of(a), key_of(b)); });
}

}  // namespace detail
}  // namespace pgas
}  // namespace v1
}  // namespace shunt
