/// Sorting over all PEs, and what follows from it.
///
/// ```cpp
/// std::vector<double> items = read();  // of this PE
/// pgas::sort(me, items);               // PE 0 has the least, in order; then PE 1
/// ```
///
/// Source: Frazer, McKellar, Samplesort, J. ACM 17 (1970), doi:10.1145/321592.321600. Equal items are told apart by
/// where they were, so that PEs have about as many of them as of others: Helman, Bader, JaJa, J. Parallel Distrib.
/// Comput. 52 (1998), doi:10.1006/jpdc.1998.1462.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <source_location>
#include <span>
#include <type_traits>
#include <vector>

#include <shunt/base/random.hpp>
#include <shunt/pgas/actor_of.hpp>
#include <shunt/pgas/containers/balance.hpp>
#include <shunt/pgas/containers/detail/local_sort.hpp>
#include <shunt/pgas/detail/refusals.hpp>
#include <shunt/pgas/symmetric.hpp>

namespace shunt {
inline namespace v1 {
namespace pgas {

namespace detail {

/// A key, and where it was: no two are equal.
template <class Key>
struct placed_key {
  Key key;
  std::int32_t pe;
  std::uint32_t unused = 0;
  std::uint64_t at;
};

/// Whether a comes before b.
template <class Key, class Less>
[[nodiscard]] bool before(const placed_key<Key>& a, const placed_key<Key>& b, Less& less) {
  if (less(a.key, b.key)) return true;
  if (less(b.key, a.key)) return false;
  return a.pe != b.pe ? a.pe < b.pe : a.at < b.at;
}

/// Collective. \return PEs - 1 keys which cut all items into parts of about the same size; none where there are none.
template <class T, class Less, class KeyOf>
auto splitters(pe& me, const std::vector<T>& items, Less& less, KeyOf key_of) {
  using key = std::remove_cvref_t<decltype(key_of(items[0]))>;
  using placed = placed_key<key>;
  constexpr std::uint64_t samples_a_pe = 256;  // parts then differ by some sixteenth of their size
  const auto pes = static_cast<std::uint64_t>(me.count());
  const auto all = me.sum(std::uint64_t{items.size()});

  symmetric<std::vector<placed>> samples(me);
  actor_of gathering(samples);
  if (!items.empty()) {
    // As many as its share of all items, so each item has the same chance.
    const auto mine = (samples_a_pe * pes * items.size() + all - 1) / all;
    const counter_random random(0x5A3F1E5, static_cast<std::uint64_t>(me.index()));
    for (std::uint64_t i = 0; i != mine; ++i) {
      const std::uint64_t at = random.below(i, items.size());
      const placed sample{key_of(items[at]), me.index(), 0, at};
      gathering.send(0, [sample](std::vector<placed>& to) { to.push_back(sample); });
    }
  }
  gathering.finish();

  std::vector<placed> chosen;
  if (me.index() == 0 && !samples->empty()) {
    std::sort(samples->begin(), samples->end(),
              [&less](const placed& a, const placed& b) { return before(a, b, less); });
    for (std::uint64_t part = 1; part != pes; ++part) chosen.push_back((*samples)[part * samples->size() / pes]);
  }
  return me.broadcast(chosen, 0);
}

template <class T, class Less, class KeyOf>
void sort_items(pe& me, std::vector<T>& items, Less less, KeyOf key_of) {
  static_assert(!std::is_same_v<T, bool>, "sort: a std::vector<bool> has no items that could be moved: sort char");
  const auto cuts = splitters(me, items, less, key_of);
  using placed = typename std::remove_cvref_t<decltype(cuts)>::value_type;

  symmetric<std::vector<T>> part(me);
  const auto mean = me.sum(std::uint64_t{items.size()}) / static_cast<std::uint64_t>(me.count());
  part->reserve(static_cast<std::size_t>(mean + mean / 8));
  actor_of moves(part);
  for (std::uint64_t at = 0; at != items.size(); ++at) {
    const placed here{key_of(items[at]), me.index(), 0, at};
    const auto to = std::upper_bound(cuts.begin(), cuts.end(), here,
                                     [&less](const placed& a, const placed& b) { return before(a, b, less); });
    moves.send(static_cast<int>(to - cuts.begin()), [item = items[at]](std::vector<T>& all) { all.push_back(item); });
  }
  moves.finish();
  items.swap(*part);
  std::vector<T>().swap(*part);  // before the local sort takes memory
  sort_local(items, less, key_of);
}

}  // namespace detail

/// Collective. Sorts the items of all PEs: afterwards `items` of PE 0 are the least, in order, then those of PE 1, and
/// so on. PEs may have different numbers of items, or none; afterwards they have about the same number, balance() makes
/// it exact. Not stable.
/// \param less  as std::sort's; pure
/// Cost: a message an item, and a local sort; integers by std::less are sorted by their bytes. Memory: the items twice.
template <plain_value T, class Less = std::less<T>>
void sort(pe& me, std::vector<T>& items, Less less = {}) {
  detail::sort_items(me, items, less, detail::whole_item());
}

/// Collective. The same by keys: values[k] goes where keys[k] goes.
/// \throws usage_error for vectors of different lengths.
template <plain_value K, plain_value V, class Less = std::less<K>>
void sort_by_key(pe& me, std::vector<K>& keys, std::vector<V>& values, Less less = {},
                 std::source_location where = std::source_location::current()) {
  if (keys.size() != values.size())
    detail::refuse_lengths(me.index(), "sort_by_key()", keys.size(), values.size(), where);
  struct item {
    K key;
    V value;
  };
  std::vector<item> items(keys.size());
  for (std::size_t k = 0; k != items.size(); ++k) items[k] = {keys[k], values[k]};
  std::vector<K>().swap(keys);
  std::vector<V>().swap(values);
  detail::sort_items(me, items, less, [](const item& i) -> const K& { return i.key; });
  keys.resize(items.size());
  values.resize(items.size());
  for (std::size_t k = 0; k != items.size(); ++k) {
    keys[k] = items[k].key;
    values[k] = items[k].value;
  }
}

/// Collective. The k greatest of all PEs' items, the greatest first, on every PE; all, where there are fewer.
/// \param less  as std::sort's; a lambda without captures, as it runs for other PEs too
/// Cost: of each PE the k greatest travel to PE 0, and its own to all.
template <plain_value T, class Less = std::less<T>>
[[nodiscard]] std::vector<T> top_k(pe& me, std::span<const T> items, std::size_t k, Less less = {}) {
  static_assert(std::is_empty_v<Less> && std::is_default_constructible_v<Less>,
                "top_k: the order must be a lambda without captures: it runs for other PEs too");
  const auto greater = [less](const T& a, const T& b) { return less(b, a); };
  std::vector<T> mine(items.begin(), items.end());
  if (mine.size() > k) {
    std::nth_element(mine.begin(), mine.begin() + static_cast<std::ptrdiff_t>(k), mine.end(), greater);
    mine.resize(k);
  }
  symmetric<std::vector<T>> best(me);  // a heap, the least on top
  actor_of gathering(best);
  for (const T& item : mine) {
    gathering.send(0, [item, k](std::vector<T>& all) {
      const auto before = [](const T& a, const T& b) { return Less()(b, a); };
      if (all.size() == k) {
        if (!Less()(all.front(), item)) return;
        std::pop_heap(all.begin(), all.end(), before);
        all.pop_back();
      }
      all.push_back(item);
      std::push_heap(all.begin(), all.end(), before);
    });
  }
  gathering.finish();
  std::sort(best->begin(), best->end(), greater);
  return me.broadcast(*best, 0);
}
/// Collective. The same, of a vector.
template <plain_value T, class Less = std::less<T>>
[[nodiscard]] std::vector<T> top_k(pe& me, const std::vector<T>& items, std::size_t k, Less less = {}) {
  return top_k(me, std::span<const T>(items), k, less);
}

/// Collective. Puts the items of all PEs into a random order, each order as likely as any other; each PE has as many as
/// the others afterwards, or one more. The order depends on the seed and on where the items are among all, not on the
/// number of PEs: up to two random numbers of 64 bits that are equal.
/// Cost: as sort_by_key() of 64-bit keys, and balance().
template <plain_value T>
void shuffle(pe& me, std::vector<T>& items, std::uint64_t seed) {
  const counter_random random(seed);
  const std::uint64_t before = me.scan(std::uint64_t{items.size()});
  std::vector<std::uint64_t> keys(items.size());
  for (std::size_t k = 0; k != keys.size(); ++k) keys[k] = random.at(before + k);
  sort_by_key(me, keys, items);
  balance(me, items);
}

}  // namespace pgas
}  // namespace v1
}  // namespace shunt
