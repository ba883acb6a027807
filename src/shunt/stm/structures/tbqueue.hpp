/// A bounded queue: first in, first out.
///
///        popped_           pushed_
///           v                 v
///   | - | item | item | item | - |       slot = count % capacity
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <shunt/base/cache_line.hpp>
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
inline constinit transaction_class class_of_tbqueues{"tbqueue"};
}

/// Any thread or fiber may push and pop. Pushes conflict with each other, and so do pops. A push and a pop conflict
/// only where the queue is empty or full. A push into an empty queue wakes all fibers and threads that wait for an
/// item; a pop from a full queue wakes all that wait for room.
///
/// Memory: a variable for each slot, made by the constructor. Each operation is O(1).
template <tx_item T>
class tbqueue {
 public:
  /// \param capacity  items, at least 1. \throws usage_error for 0, std::bad_alloc
  explicit tbqueue(std::size_t capacity, std::source_location where = std::source_location::current())
      : capacity_(checked(capacity, {"tbqueue", where})), slots_(std::make_unique<slot[]>(capacity)) {}
  tbqueue(const tbqueue&) = delete;
  tbqueue& operator=(const tbqueue&) = delete;

  /// Items that fit, as given.
  [[nodiscard]] std::size_t capacity() const noexcept { return capacity_; }

  /// Adds an item at the end; waits while the queue is full.
  void push(tx& t, T value) { t.check(try_push(t, std::move(value))); }
  /// The same as a transaction of its own.
  void push(const T& value) {
    atomically(kind, [&](tx& t) { push(t, value); });
  }

  /// \return false: the queue is full; nothing is done.
  [[nodiscard]] bool try_push(tx& t, T value) {
    const auto count = t.read(pushed_);
    slot& to = slots_[count % capacity_];
    if (t.read(to).has_value()) return false;
    t.write(to, std::optional<T>(std::move(value)));
    t.write(pushed_, count + 1);
    return true;
  }
  /// The same as a transaction of its own.
  [[nodiscard]] bool try_push(const T& value) {
    return atomically(kind, [&](tx& t) { return try_push(t, value); });
  }

  /// Takes the first item; waits while the queue is empty.
  T pop(tx& t) {
    std::optional<T> value = try_pop(t);
    t.check(value.has_value());
    return *std::move(value);
  }
  /// The same as a transaction of its own.
  T pop() {
    return atomically(kind, [&](tx& t) { return pop(t); });
  }

  /// \return nothing: the queue is empty.
  [[nodiscard]] std::optional<T> try_pop(tx& t) {
    const auto count = t.read(popped_);
    slot& from = slots_[count % capacity_];
    std::optional<T> value = t.read(from);
    if (value.has_value()) {
      t.write(from, std::nullopt);
      t.write(popped_, count + 1);
    }
    return value;
  }
  /// The same as a transaction of its own.
  [[nodiscard]] std::optional<T> try_pop() {
    return atomically(kind, [&](tx& t) { return try_pop(t); });
  }

  /// \return what pop() would take; waits while the queue is empty.
  [[nodiscard]] T front(tx& t) const {
    std::optional<T> value = try_front(t);
    t.check(value.has_value());
    return *std::move(value);
  }
  /// The same as a transaction of its own.
  [[nodiscard]] T front() const {
    return atomically(kind, [&](tx& t) { return front(t); });
  }

  /// \return nothing: the queue is empty.
  [[nodiscard]] std::optional<T> try_front(tx& t) const { return t.read(slots_[t.read(popped_) % capacity_]); }
  /// The same as a transaction of its own.
  [[nodiscard]] std::optional<T> try_front() const {
    return atomically(kind, [&](tx& t) { return try_front(t); });
  }

  /// The number of items. Conflicts with every push and pop; full() and empty() do not.
  [[nodiscard]] std::size_t size(tx& t) const { return static_cast<std::size_t>(t.read(pushed_) - t.read(popped_)); }
  /// The same as a transaction of its own.
  [[nodiscard]] std::size_t size() const {
    return atomically(kind, [&](tx& t) { return size(t); });
  }

  /// Whether a pop() would wait. Conflicts with pops, and with the push that fills the first slot.
  [[nodiscard]] bool empty(tx& t) const { return !t.read(slots_[t.read(popped_) % capacity_]).has_value(); }
  /// The same as a transaction of its own.
  [[nodiscard]] bool empty() const {
    return atomically(kind, [&](tx& t) { return empty(t); });
  }
  /// Whether a push() would wait. Conflicts with pushes, and with the pop that empties the next slot.
  [[nodiscard]] bool full(tx& t) const { return t.read(slots_[t.read(pushed_) % capacity_]).has_value(); }
  /// The same as a transaction of its own.
  [[nodiscard]] bool full() const {
    return atomically(kind, [&](tx& t) { return full(t); });
  }

 private:
  static constexpr const auto& kind = detail::class_of_tbqueues;
  using slot = tvar<std::optional<T>>;

  static std::size_t checked(std::size_t capacity, call_site call) {
    if (capacity == 0) {
      throw usage_error(error_number(707),
                        "tbqueue: with a capacity of 0 no push would end: ask for 1 or more" + call.place(),
                        call.where());
    }
    return capacity;
  }

  const std::size_t capacity_;
  const std::unique_ptr<slot[]> slots_;
  tvar<std::uint64_t> pushed_;                          // ever
  alignas(quiet_distance) tvar<std::uint64_t> popped_;  // another cache line: a push does not touch it
};

}  // namespace stm

using stm::tbqueue;

}  // namespace v1
}  // namespace shunt
