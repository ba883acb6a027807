/// A channel: every reader gets every item that is written while the reader exists.
///
///   reader.next_ ──v              tail_ ──v        other.next_ ──^ (the same place: it has read all)
///                 item ───────> item ───> place
///                 left: 2       left: 1   the next item's
///
/// Invariants
///   tchan.C1  An item's `left` is the number of readers that have yet to pass it; the reader that takes it to 0
///             destroys the item.
///   tchan.C2  Each reader's next_ is an item that counts this reader, or the last place, which has no item yet.
#pragma once

#include <cstddef>
#include <optional>
#include <shunt/base/call_site.hpp>
#include <shunt/base/error.hpp>
#include <shunt/stm/atomically.hpp>
#include <shunt/stm/structures/tx_item.hpp>
#include <source_location>
#include <utility>

namespace shunt {
inline namespace v1 {
namespace stm {

namespace detail {
inline constinit transaction_class class_of_tchans{"tchan"};
}

/// ```cpp
/// shunt::tchan<int> prices;
/// shunt::tchan<int>::reader mine(prices), yours(prices);
/// prices.write(3);
/// const int sum = mine.read() + yours.read();  // 6
/// ```
///
/// Any thread or fiber may write, and any may use any reader. Writes conflict with each other, and with making or
/// ending a reader. Two readers conflict at an item that both read at the same time. A write and a read do not conflict
/// where the reader is behind. A write wakes all readers that wait.
///
/// Memory: an object (base/thread_cache.hpp) for each item that some reader has yet to read. Nothing bounds their
/// number, so the slowest reader decides. Each operation is O(1) unless it says otherwise.
template <tx_item T>
class tchan {
  struct place;

 public:
  class reader;

  /// A channel without readers. \throws std::bad_alloc
  tchan() : tail_(new place) {}
  /// All readers must have ended.
  ~tchan() {
    SHUNT_ASSERT(detail::tvar_access::committed(readers_) == 0);
    delete detail::tvar_access::committed(tail_);
  }
  tchan(const tchan&) = delete;
  tchan& operator=(const tchan&) = delete;

  /// Writes an item for all present readers. Without readers it is dropped.
  void write(tx& t, T value) {
    const auto readers = t.read(readers_);
    if (readers == 0) return;
    place* const here = t.read(tail_);
    place* const next = t.make<place>();
    t.write(here->value, std::optional<T>(std::move(value)));
    t.write(here->left, readers);
    t.write(here->next, next);
    t.write(tail_, next);
  }
  /// The same as a transaction of its own.
  void write(const T& value) {
    atomically(kind, [&](tx& t) { write(t, value); });
  }

  /// Readers that there are.
  [[nodiscard]] std::size_t readers(tx& t) const { return t.read(readers_); }
  /// The same outside of transactions: one load.
  [[nodiscard]] std::size_t readers() const { return readers_.load(); }

 private:
  static constexpr const auto& kind = detail::class_of_tchans;

  struct place : in_thread_cache {
    tvar<std::optional<T>> value;
    tvar<std::size_t> left;
    tvar<place*> next;
  };

  tvar<place*> tail_;
  tvar<std::size_t> readers_;
};

/// A position in a channel: at first that of the next item to be written, or another reader's position.
template <tx_item T>
class tchan<T>::reader {
 public:
  /// Reads what is written from now on. Not inside a transaction, because that may be undone. \throws usage_error
  explicit reader(tchan& from, std::source_location where = std::source_location::current())
      : from_(from), next_(joined(from, {"tchan::reader", where})) {}
  /// Reads what `other` has yet to read. O(those items). Not inside a transaction. \throws usage_error
  reader(const reader& other) : from_(other.from_), next_(joined(other)) {}
  reader& operator=(const reader&) = delete;
  /// Not inside a transaction. O(items that it has yet to read). A lack of memory ends the program here.
  ~reader() {
    SHUNT_ASSERT(!detail::stm_access::inside());
    atomically(kind, [&](tx& t) {
      t.modify(from_.readers_, [](std::size_t n) { return n - 1; });
      for (place* here = t.read(next_); t.read(here->value).has_value();) here = pass(t, here);
    });
  }

  /// Takes the next item; waits until there is one.
  T read(tx& t) {
    std::optional<T> value = try_read(t);
    t.check(value.has_value());
    return *std::move(value);
  }
  /// The same as a transaction of its own.
  T read() {
    return atomically(kind, [&](tx& t) { return read(t); });
  }

  /// \return nothing: this reader has read all items.
  [[nodiscard]] std::optional<T> try_read(tx& t) {
    place* const here = t.read(next_);
    std::optional<T> value = t.read(here->value);
    if (value.has_value()) t.write(next_, pass(t, here));
    return value;
  }
  /// The same as a transaction of its own.
  [[nodiscard]] std::optional<T> try_read() {
    return atomically(kind, [&](tx& t) { return try_read(t); });
  }

  /// Whether read() would wait.
  [[nodiscard]] bool empty(tx& t) const { return !t.read(t.read(next_)->value).has_value(); }
  /// The same as a transaction of its own.
  [[nodiscard]] bool empty() const {
    return atomically(kind, [&](tx& t) { return empty(t); });
  }

 private:
  /// This reader passes an item. \return the next place.
  static place* pass(tx& t, place* here) {
    place* const next = t.read(here->next);
    const auto left = t.read(here->left) - 1;
    left == 0 ? t.destroy(here) : t.write(here->left, left);
    return next;
  }

  static void refuse_inside(call_site call) {
    if (detail::stm_access::inside()) {
      throw usage_error(error_number(708),
                        "tchan::reader: made inside a transaction, which may be undone: make it before" + call.place(),
                        call.where());
    }
  }
  static place* joined(tchan& from, call_site call) {
    refuse_inside(call);
    return atomically(kind, [&](tx& t) {
      t.modify(from.readers_, [](std::size_t n) { return n + 1; });
      return t.read(from.tail_);
    });
  }
  static place* joined(const reader& other) {
    refuse_inside("tchan::reader");
    return atomically(kind, [&](tx& t) {
      t.modify(other.from_.readers_, [](std::size_t n) { return n + 1; });
      place* const first = t.read(other.next_);
      for (place* here = first; t.read(here->value).has_value(); here = t.read(here->next))
        t.modify(here->left, [](std::size_t n) { return n + 1; });
      return first;
    });
  }

  tchan& from_;
  tvar<place*> next_;
};

}  // namespace stm

using stm::tchan;

}  // namespace v1
}  // namespace shunt
