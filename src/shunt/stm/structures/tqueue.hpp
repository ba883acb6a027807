/// An unbounded queue: first in, first out.
///
///   head_ -> item -> item -> item <- tail_        both null: empty
#pragma once

#include <optional>
#include <shunt/base/cache_line.hpp>
#include <shunt/stm/atomically.hpp>
#include <shunt/stm/structures/tx_item.hpp>
#include <utility>
#include <vector>

namespace shunt {
inline namespace v1 {
namespace stm {

namespace detail {
inline constinit transaction_class class_of_tqueues{"tqueue"};
}

/// Any thread or fiber may push and pop. Pushes conflict with each other, and so do pops. A push and a pop conflict
/// only while the queue has fewer than two items. A push into an empty queue wakes all fibers and threads that wait.
///
/// Memory: an object (base/thread_cache.hpp) for each item. Nothing bounds their number: see tbqueue. Each operation is
/// O(1) unless it says otherwise.
template <tx_item T>
class tqueue {
 public:
  tqueue() = default;
  ~tqueue() {
    for (item* i = detail::tvar_access::committed(head_); i != nullptr;)
      delete std::exchange(i, detail::tvar_access::committed(i->next));
  }
  tqueue(const tqueue&) = delete;
  tqueue& operator=(const tqueue&) = delete;

  /// Adds an item at the end.
  void push(tx& t, T value) {
    item* const made = t.make<item>(std::move(value));
    item* const last = t.read(tail_);
    t.write(last == nullptr ? head_ : last->next, made);
    t.write(tail_, made);
  }
  /// The same as a transaction of its own.
  void push(const T& value) {
    atomically(kind, [&](tx& t) { push(t, value); });
  }

  /// Takes the first item; waits while the queue is empty.
  T pop(tx& t) {
    item* const first = t.read(head_);
    t.check(first != nullptr);
    T value = first->value;
    item* const next = t.read(first->next);
    t.write(head_, next);
    if (next == nullptr) t.write(tail_, nullptr);
    t.destroy(first);
    return value;
  }
  /// The same as a transaction of its own.
  T pop() {
    return atomically(kind, [&](tx& t) { return pop(t); });
  }

  /// \return nothing: the queue is empty.
  [[nodiscard]] std::optional<T> try_pop(tx& t) {
    if (empty(t)) return std::nullopt;
    return pop(t);
  }
  /// The same as a transaction of its own.
  [[nodiscard]] std::optional<T> try_pop() {
    return atomically(kind, [&](tx& t) { return try_pop(t); });
  }

  /// Takes all items; does not wait. O(items); conflicts with every push and pop.
  std::vector<T> pop_all(tx& t) {
    std::vector<T> all;
    for (item* i = t.read(head_); i != nullptr;) {
      all.push_back(i->value);
      t.destroy(std::exchange(i, t.read(i->next)));
    }
    t.write(head_, nullptr);
    t.write(tail_, nullptr);
    return all;
  }
  /// The same as a transaction of its own.
  std::vector<T> pop_all() {
    return atomically(kind, [&](tx& t) { return pop_all(t); });
  }

  /// \return what pop() would take; waits while the queue is empty.
  [[nodiscard]] T front(tx& t) const {
    const item* const first = t.read(head_);
    t.check(first != nullptr);
    return first->value;
  }
  /// The same as a transaction of its own.
  [[nodiscard]] T front() const {
    return atomically(kind, [&](tx& t) { return front(t); });
  }

  /// \return nothing: the queue is empty.
  [[nodiscard]] std::optional<T> try_front(tx& t) const {
    if (empty(t)) return std::nullopt;
    return front(t);
  }
  /// The same as a transaction of its own.
  [[nodiscard]] std::optional<T> try_front() const {
    return atomically(kind, [&](tx& t) { return try_front(t); });
  }

  /// Whether pop() would wait.
  [[nodiscard]] bool empty(tx& t) const { return t.read(head_) == nullptr; }
  /// The same outside of transactions: one load.
  [[nodiscard]] bool empty() const { return head_.load() == nullptr; }

 private:
  static constexpr const auto& kind = detail::class_of_tqueues;

  struct item : in_thread_cache {
    explicit item(T v) : value(std::move(v)) {}
    const T value;
    tvar<item*> next;
  };

  tvar<item*> head_;
  alignas(quiet_distance) tvar<item*> tail_;  // another cache line: a push does not touch the head's
};

}  // namespace stm

using stm::tqueue;

}  // namespace v1
}  // namespace shunt
