/// A message: a call that will be made, in one cache line. On its way to another worker a message has no envelope, see
/// message_batch.hpp.
///
///   | next or to | ops | target |      arguments, 40 bytes      |
///
/// Invariants
///   envelope.L1  A message is in one place: an envelope of a mailbox, a message batch, or an envelope in the frame of
///       a sender that waits. Its arguments go from one place to the next by message_ops::move, which leaves the old
///       place empty.
///   envelope.L2  A message ends in one of two ways, once. message_ops::run calls, with the arguments where they are,
///       and ends them; or message_ops::drop ends them. Both tell the fiber that asked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <string_view>
#include <type_traits>
#include <utility>

#include <shunt/actor/mailbox.hpp>
#include <shunt/base/cache_line.hpp>

namespace shunt {
inline namespace v1 {
namespace actor::detail {

struct actor_cell;
struct envelope;

/// What can be done with a message, once its method is known no more. One object a method.
struct message_ops {
  /// Calls the method. The handler fiber. \throws what the handler throws.
  void (*run)(envelope& e, void* object);
  /// Moves the arguments. Null: they are plain bytes.
  void (*move)(std::byte* from, std::byte* to) noexcept;
  /// Ends the arguments. The fiber that asked gets an `unanswered` that says why.
  void (*drop)(envelope& e, const dead_letter& as) noexcept;
  std::string_view method;
  std::size_t bytes;  // of arguments; a multiple of 8, from 8 to envelope::capacity

  /// envelope.L1. Moves plain bytes word by word, as they were written: a read that is larger than the writes before it
  /// waits for the store buffer.
  void move_arguments(std::byte* from, std::byte* to) const noexcept {
    if (move != nullptr) return move(from, to);
    const auto word = [&](std::size_t i) { std::memcpy(to + 8 * i, from + 8 * i, 8); };
    switch (bytes / 8) {
      case 5: word(4); [[fallthrough]];
      case 4: word(3); [[fallthrough]];
      case 3: word(2); [[fallthrough]];
      case 2: word(1); [[fallthrough]];
      default: word(0);
    }
  }
};

/// What envelopes are linked by.
struct envelope_link {
  union {
    envelope* next;  // in a mailbox, or free
    actor_cell* to;  // in the frame of a sender
  };
};

struct alignas(cache_line) envelope : envelope_link {
  static constexpr std::size_t capacity = 40;  // bytes of arguments
  static constexpr std::size_t alignment = 8;

  const message_ops* ops;
  std::uint64_t target;  // the cell's incarnation, and the offset of a part of its object: see address
  alignas(alignment) std::byte arguments[capacity];

  [[nodiscard]] std::uint32_t incarnation() const noexcept { return static_cast<std::uint32_t>(target); }
  /// The object's part that the message is for.
  template <typename T>
  [[nodiscard]] T& part_of(void* object) const noexcept {
    return *reinterpret_cast<T*>(static_cast<std::byte*>(object) + static_cast<std::int32_t>(target >> 32));
  }
  /// envelope.L1. Moves all but `next` and `to`.
  void move_to(envelope& other) noexcept {
    other.ops = ops;
    other.target = target;
    ops->move_arguments(arguments, other.arguments);
  }
};
static_assert(sizeof(envelope) == cache_line && envelope::alignment == 8 && envelope::capacity == 40);

/// The arguments of a message, copied or moved from the caller's. Unlike std::tuple it is plain bytes if they all are.
template <std::size_t I, typename T>
struct value_at {
  template <typename A>
  value_at(std::in_place_t, A&& a) noexcept(noexcept(static_cast<T>(std::forward<A>(a))))
      : value(static_cast<T>(std::forward<A>(a))) {}
  T value;
};
template <typename Indices, typename... T>
struct values_of;
template <std::size_t... I, typename... T>
struct values_of<std::index_sequence<I...>, T...> : value_at<I, T>... {
  template <typename... A>
  explicit values_of(std::in_place_t,
                     A&&... a) noexcept((... && std::is_nothrow_constructible_v<value_at<I, T>, std::in_place_t, A>))
      : value_at<I, T>(std::in_place, std::forward<A>(a))... {}

  /// Passes them as the handler's parameters `P` want them: a value or an rvalue reference is moved from.
  template <typename... P, typename F>
  decltype(auto) give_to(F&& f) {
    return std::forward<F>(f)(static_cast<P&&>(static_cast<value_at<I, T>&>(*this).value)...);
  }
};
template <typename... T>
using values = values_of<std::index_sequence_for<T...>, T...>;

/// Whether the envelope holds a T itself; else it holds a pointer to it, and a message costs an allocation.
template <typename T>
inline constexpr bool fits =
    sizeof(T) <= envelope::capacity && alignof(T) <= envelope::alignment && std::is_nothrow_move_constructible_v<T>;
template <typename T>
using kept = std::conditional_t<fits<T>, T, std::unique_ptr<T>>;

template <typename T>
[[nodiscard]] kept<T>& kept_at(std::byte* place) noexcept {
  return *std::launder(reinterpret_cast<kept<T>*>(place));
}
template <typename T>
[[nodiscard]] kept<T>& kept_in(envelope& e) noexcept {
  return kept_at<T>(e.arguments);
}
/// message_ops::bytes of a message that carries a T.
template <typename T>
inline constexpr std::size_t bytes_of =
    (sizeof(kept<T>) + envelope::alignment - 1) / envelope::alignment * envelope::alignment;
template <typename T>
[[nodiscard]] T& content(kept<T>& k) noexcept {
  if constexpr (fits<T>) {
    return k;
  } else {
    return *k;
  }
}

/// message_ops::move of a message that carries a T.
template <typename T>
void move_kept(std::byte* from, std::byte* to) noexcept {
  ::new (static_cast<void*>(to)) kept<T>(std::move(kept_at<T>(from)));
  kept_at<T>(from).~kept<T>();
}
template <typename T>
inline constexpr auto mover = std::is_trivially_copyable_v<kept<T>> ? nullptr : &move_kept<T>;

}  // namespace actor::detail
}  // namespace v1
}  // namespace shunt
