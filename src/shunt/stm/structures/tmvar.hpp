/// A place for one item: empty, or full.
///
/// Source: Peyton Jones, Gordon, Finne: Concurrent Haskell, POPL 1996, doi:10.1145/237721.237794 (MVar); TMVar in
/// Haskell's stm.
#pragma once

#include <optional>
#include <shunt/stm/atomically.hpp>
#include <shunt/stm/structures/tx_item.hpp>
#include <utility>

namespace shunt {
inline namespace v1 {
namespace stm {

namespace detail {
inline constinit transaction_class class_of_tmvars{"tmvar"};
}

/// Usable as a lock (`take` and `put` of an empty struct), as a future reply, as a queue of one item.
///
/// Any thread or fiber may use it. Operations that change it conflict with all others. Each costs one variable's read
/// and write.
template <tx_item T>
class tmvar {
 public:
  /// An empty place.
  tmvar() = default;
  /// A full place. \throws as tvar's constructor.
  explicit tmvar(T item) : held_(std::optional<T>(std::move(item))) {}

  /// Waits until the place is empty, and fills it.
  void put(tx& t, T item) { t.check(try_put(t, std::move(item))); }
  /// The same as a transaction of its own.
  void put(const T& item) {
    atomically(kind, [&](tx& t) { put(t, item); });
  }

  /// \return false: the place is full; nothing is done.
  [[nodiscard]] bool try_put(tx& t, T item) {
    if (t.read(held_).has_value()) return false;
    t.write(held_, std::optional<T>(std::move(item)));
    return true;
  }
  /// The same as a transaction of its own.
  [[nodiscard]] bool try_put(const T& item) {
    return atomically(kind, [&](tx& t) { return try_put(t, item); });
  }

  /// Waits until the place is full, and empties it.
  T take(tx& t) {
    T item = read(t);
    t.write(held_, std::nullopt);
    return item;
  }
  /// The same as a transaction of its own.
  T take() {
    return atomically(kind, [&](tx& t) { return take(t); });
  }

  /// \return nothing: the place is empty.
  [[nodiscard]] std::optional<T> try_take(tx& t) {
    std::optional<T> item = t.read(held_);
    if (item.has_value()) t.write(held_, std::nullopt);
    return item;
  }
  /// The same as a transaction of its own.
  [[nodiscard]] std::optional<T> try_take() {
    return atomically(kind, [&](tx& t) { return try_take(t); });
  }

  /// Waits until the place is full, and leaves it full.
  [[nodiscard]] T read(tx& t) const {
    const std::optional<T>& seen = t.read(held_);
    t.check(seen.has_value());
    return *seen;
  }
  /// The same as a transaction of its own.
  [[nodiscard]] T read() const {
    return atomically(kind, [&](tx& t) { return read(t); });
  }

  /// \return nothing: the place is empty.
  [[nodiscard]] std::optional<T> try_read(tx& t) const { return t.read(held_); }
  /// The same as a transaction of its own.
  [[nodiscard]] std::optional<T> try_read() const {
    return atomically(kind, [&](tx& t) { return try_read(t); });
  }

  /// Whether take() would wait.
  [[nodiscard]] bool empty(tx& t) const { return !t.read(held_).has_value(); }
  /// The same as a transaction of its own.
  [[nodiscard]] bool empty() const {
    return atomically(kind, [&](tx& t) { return empty(t); });
  }

 private:
  static constexpr const auto& kind = detail::class_of_tmvars;

  tvar<std::optional<T>> held_;
};

}  // namespace stm

using stm::tmvar;

}  // namespace v1
}  // namespace shunt
