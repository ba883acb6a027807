/// Prefix sums over items that lie on all PEs.
///
/// The items are those of PE 0, in order, then those of PE 1, and so on. pe::scan() does the same for one value of each
/// PE.
///
/// Source: Blelloch, Prefix sums and their applications, CMU-CS-90-190.
#pragma once

#include <cstddef>
#include <source_location>
#include <span>
#include <vector>

#include <shunt/pgas/detail/refusals.hpp>
#include <shunt/pgas/pe.hpp>

namespace shunt {
inline namespace v1 {
namespace pgas {

/// Collective. `into[k]` becomes combine(first, all items before the k-th of this PE). PEs may have different numbers
/// of items, or none; `into` may be `items`.
/// \param combine  associative; a lambda without captures, as it runs for other PEs too
/// \param first    so that combine(first, x) is x
/// \throws usage_error for spans of different lengths. Cost: two passes over the items, and a pe::scan().
template <plain_value T, class Combine>
void exclusive_scan(pe& me, std::span<const T> items, std::span<T> into, const T& first, Combine combine,
                    std::source_location where = std::source_location::current()) {
  if (items.size() != into.size())
    detail::refuse_lengths(me.index(), "exclusive_scan()", items.size(), into.size(), where);
  T mine = first;
  for (const T& item : items) mine = combine(mine, item);
  T before = me.scan(mine, combine, first);
  for (std::size_t k = 0; k != items.size(); ++k) {
    const T item = items[k];
    into[k] = before;
    before = combine(before, item);
  }
}
/// Collective. The same with `+`, from T{}.
template <plain_value T>
void exclusive_scan(pe& me, std::span<const T> items, std::span<T> into,
                    std::source_location where = std::source_location::current()) {
  exclusive_scan(me, items, into, T{}, [](const T& a, const T& b) { return static_cast<T>(a + b); }, where);
}
/// Collective. The same, of a vector in place.
template <plain_value T>
void exclusive_scan(pe& me, std::vector<T>& items) {
  exclusive_scan(me, std::span<const T>(items), std::span<T>(items));
}

/// Collective. As exclusive_scan(); `into[k]` is combined with the k-th item as well.
template <plain_value T, class Combine>
void inclusive_scan(pe& me, std::span<const T> items, std::span<T> into, const T& first, Combine combine,
                    std::source_location where = std::source_location::current()) {
  if (items.size() != into.size())
    detail::refuse_lengths(me.index(), "inclusive_scan()", items.size(), into.size(), where);
  T mine = first;
  for (const T& item : items) mine = combine(mine, item);
  T before = me.scan(mine, combine, first);
  for (std::size_t k = 0; k != items.size(); ++k) into[k] = before = combine(before, items[k]);
}
/// Collective. The same with `+`, from T{}.
template <plain_value T>
void inclusive_scan(pe& me, std::span<const T> items, std::span<T> into,
                    std::source_location where = std::source_location::current()) {
  inclusive_scan(me, items, into, T{}, [](const T& a, const T& b) { return static_cast<T>(a + b); }, where);
}
/// Collective. The same, of a vector in place.
template <plain_value T>
void inclusive_scan(pe& me, std::vector<T>& items) {
  inclusive_scan(me, std::span<const T>(items), std::span<T>(items));
}

}  // namespace pgas
}  // namespace v1
}  // namespace shunt
