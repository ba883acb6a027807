/// A priority queue: the greatest item first; of equal items the one that was pushed first.
#pragma once

#include <functional>
#include <optional>
#include <shunt/stm/structures/detail/skip_list.hpp>
#include <utility>

namespace shunt {
inline namespace v1 {
namespace stm {

namespace detail {
inline constinit transaction_class class_of_tpriority_queues{"tpriority_queue"};
}

/// `Less` as in std::priority_queue: with std::greater the least item comes first.
///
/// Any thread or fiber. Pops conflict with each other. Pushes conflict rarely with each other. A push conflicts with a
/// pop only if it pushes the item to be popped next, or on one of the list's higher levels. A push into the empty queue
/// wakes all fibers and threads that wait.
///
/// Memory: an object (base/thread_cache.hpp) for each item, and for every fourth one a second; nothing bounds their
/// number.
template <tx_item T, typename Less = std::less<T>>
class tpriority_queue {
 public:
  /// \throws std::bad_alloc
  explicit tpriority_queue(Less less = Less()) : list_(later(std::move(less))) {}

  /// O(log n), expected.
  void push(tx& t, T value) {
    typename list::way to;
    list_.greater(t, value, to);
    list_.insert(t, to, std::move(value));
  }
  /// The same as a transaction of its own.
  void push(const T& value) {
    atomically(kind, [&](tx& t) { push(t, value); });
  }

  /// Takes the greatest item; waits while the queue is empty. O(1), expected.
  T pop(tx& t) {
    auto* const first = list_.first(t);
    t.check(first != nullptr);
    T value = first->key;
    list_.erase_first(t, first);
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

  /// \return what pop() would take; waits while the queue is empty. O(1).
  [[nodiscard]] T top(tx& t) const {
    const auto* const first = list_.first(t);
    t.check(first != nullptr);
    return first->key;
  }
  /// The same as a transaction of its own.
  [[nodiscard]] T top() const {
    return atomically(kind, [&](tx& t) { return top(t); });
  }

  /// \return nothing: the queue is empty. O(1).
  [[nodiscard]] std::optional<T> try_top(tx& t) const {
    if (empty(t)) return std::nullopt;
    return top(t);
  }
  /// The same as a transaction of its own.
  [[nodiscard]] std::optional<T> try_top() const {
    return atomically(kind, [&](tx& t) { return try_top(t); });
  }

  /// O(1).
  [[nodiscard]] bool empty(tx& t) const { return list_.first(t) == nullptr; }
  /// The same as a transaction of its own.
  [[nodiscard]] bool empty() const {
    return atomically(kind, [&](tx& t) { return empty(t); });
  }

 private:
  static constexpr const auto& kind = detail::class_of_tpriority_queues;
  struct nothing {};
  struct later {  // the greatest first
    explicit later(Less l) : less(std::move(l)) {}
    bool operator()(const T& a, const T& b) const { return less(b, a); }
    [[no_unique_address]] Less less;
  };
  using list = detail::skip_list<T, later, nothing>;

  list list_;
};

}  // namespace stm

using stm::tpriority_queue;

}  // namespace v1
}  // namespace shunt
