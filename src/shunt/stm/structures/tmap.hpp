/// An ordered map: values by key.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <shunt/stm/structures/detail/skip_list.hpp>
#include <utility>
#include <vector>

namespace shunt {
inline namespace v1 {
namespace stm {

namespace detail {
inline constinit transaction_class class_of_tmaps{"tmap"};
}

/// Any thread or fiber. Operations at different keys conflict rarely: in a map of n keys with a probability of some
/// log(n) / n. Changing the value at a key conflicts only with operations that read or change that value. To wait for a
/// key, check for it: `t.check(m.contains(t, key))`.
///
/// `Less` compares two keys, in any thread, and always with the same result. Operations are O(log n), expected, unless
/// they say otherwise.
///
/// Memory: an object (base/thread_cache.hpp) for each key, and for every fourth one a second.
template <tx_item K, tx_item V, typename Less = std::less<K>>
class tmap {
 public:
  /// A key with its value.
  using item = std::pair<K, V>;

  /// \throws std::bad_alloc
  explicit tmap(Less less = Less()) : list_(std::move(less)) {}

  /// Whether there is such a key.
  [[nodiscard]] bool contains(tx& t, const K& key) const { return list_.contains(t, key); }
  /// The same as a transaction of its own.
  [[nodiscard]] bool contains(const K& key) const {
    return atomically(kind, [&](tx& t) { return contains(t, key); });
  }

  /// \return a copy of the value; nothing: there is no such key.
  [[nodiscard]] std::optional<V> find(tx& t, const K& key) const {
    const auto* const n = list_.not_less(t, key);
    if (!list_.is(n, key)) return std::nullopt;
    return t.read(n->rest);
  }
  /// The same as a transaction of its own.
  [[nodiscard]] std::optional<V> find(const K& key) const {
    return atomically(kind, [&](tx& t) { return find(t, key); });
  }

  /// \return false: the key is there already, and its value stays.
  bool insert(tx& t, K key, V value) {
    typename list::way to;
    if (list_.is(list_.not_less(t, key, to), key)) return false;
    list_.insert(t, to, std::move(key), std::move(value));
    return true;
  }
  /// The same as a transaction of its own.
  bool insert(const K& key, const V& value) {
    return atomically(kind, [&](tx& t) { return insert(t, key, value); });
  }

  /// \return whether the key is new.
  bool insert_or_assign(tx& t, K key, V value) {
    typename list::way to;
    if (auto* const n = list_.not_less(t, key, to); list_.is(n, key)) {
      t.write(n->rest, std::move(value));
      return false;
    }
    list_.insert(t, to, std::move(key), std::move(value));
    return true;
  }
  /// The same as a transaction of its own.
  bool insert_or_assign(const K& key, const V& value) {
    return atomically(kind, [&](tx& t) { return insert_or_assign(t, key, value); });
  }

  /// The value becomes f(value). \return false: there is no such key.
  template <std::invocable<const V&> F>
  bool modify(tx& t, const K& key, const F& f) {
    auto* const n = list_.not_less(t, key);
    if (!list_.is(n, key)) return false;
    t.modify(n->rest, f);
    return true;
  }
  /// The same as a transaction of its own.
  template <std::invocable<const V&> F>
  bool modify(const K& key, const F& f) {
    return atomically(kind, [&](tx& t) { return modify(t, key, f); });
  }

  /// \return false: there is no such key.
  bool erase(tx& t, const K& key) { return list_.erase(t, key); }
  /// The same as a transaction of its own.
  bool erase(const K& key) {
    return atomically(kind, [&](tx& t) { return erase(t, key); });
  }

  /// O(n); conflicts with everything.
  void clear(tx& t) { list_.clear(t); }
  /// The same as a transaction of its own.
  void clear() {
    atomically(kind, [&](tx& t) { clear(t); });
  }

  /// Calls f(key, value) for each key, in order; f must not change the map. O(n); conflicts with every change.
  template <std::invocable<const K&, const V&> F>
  void for_each(tx& t, const F& f) const {
    for (const auto* n = list_.first(t); n != nullptr; n = list_.after(t, n)) f(n->key, t.read(n->rest));
  }
  /// \return all keys and values as of one moment, in order. O(n); conflicts with every change.
  [[nodiscard]] std::vector<item> items(tx& t) const {
    std::vector<item> all;
    for_each(t, [&](const K& key, const V& value) { all.emplace_back(key, value); });
    return all;
  }
  /// The same as a transaction of its own.
  [[nodiscard]] std::vector<item> items() const {
    return atomically(kind, [&](tx& t) { return items(t); });
  }

  /// O(n), because a counter would make all insertions and erasures conflict. Conflicts with those, not with changes of
  /// values.
  [[nodiscard]] std::size_t size(tx& t) const { return list_.size(t); }
  /// The same as a transaction of its own.
  [[nodiscard]] std::size_t size() const {
    return atomically(kind, [&](tx& t) { return size(t); });
  }

  /// O(1).
  [[nodiscard]] bool empty(tx& t) const { return list_.first(t) == nullptr; }
  /// The same as a transaction of its own.
  [[nodiscard]] bool empty() const {
    return atomically(kind, [&](tx& t) { return empty(t); });
  }

 private:
  static constexpr const auto& kind = detail::class_of_tmaps;
  using list = detail::skip_list<K, Less, tvar<V>>;

  list list_;
};

}  // namespace stm

using stm::tmap;

}  // namespace v1
}  // namespace shunt
