/// An ordered set.
#pragma once

#include <cstddef>
#include <functional>
#include <shunt/stm/structures/detail/skip_list.hpp>
#include <utility>
#include <vector>

namespace shunt {
inline namespace v1 {
namespace stm {

namespace detail {
inline constinit transaction_class class_of_tsets{"tset"};
}

/// As tmap, without values.
template <tx_item K, typename Less = std::less<K>>
class tset {
 public:
  /// \throws std::bad_alloc
  explicit tset(Less less = Less()) : list_(std::move(less)) {}

  /// Whether the key is there.
  [[nodiscard]] bool contains(tx& t, const K& key) const { return list_.contains(t, key); }
  /// The same as a transaction of its own.
  [[nodiscard]] bool contains(const K& key) const {
    return atomically(kind, [&](tx& t) { return contains(t, key); });
  }

  /// \return false: the key is there already.
  bool insert(tx& t, K key) {
    typename list::way to;
    if (list_.is(list_.not_less(t, key, to), key)) return false;
    list_.insert(t, to, std::move(key));
    return true;
  }
  /// The same as a transaction of its own.
  bool insert(const K& key) {
    return atomically(kind, [&](tx& t) { return insert(t, key); });
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

  /// Calls f(key) for each key, in order; f must not change the set. O(n); conflicts with every change.
  template <std::invocable<const K&> F>
  void for_each(tx& t, const F& f) const {
    for (const auto* n = list_.first(t); n != nullptr; n = list_.after(t, n)) f(n->key);
  }
  /// \return all keys as of one moment, in order. O(n); conflicts with every change.
  [[nodiscard]] std::vector<K> items(tx& t) const {
    std::vector<K> all;
    for_each(t, [&](const K& key) { all.push_back(key); });
    return all;
  }
  /// The same as a transaction of its own.
  [[nodiscard]] std::vector<K> items() const {
    return atomically(kind, [&](tx& t) { return items(t); });
  }

  /// O(n); conflicts with every change.
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
  static constexpr const auto& kind = detail::class_of_tsets;
  struct nothing {};
  using list = detail::skip_list<K, Less, nothing>;

  list list_;
};

}  // namespace stm

using stm::tset;

}  // namespace v1
}  // namespace shunt
