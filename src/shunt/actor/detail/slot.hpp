/// A message: a call that will be made, in one cache line. (On its way to another worker it has no slot: carriage.hpp.)
///
///   | next or to | kind | which |      arguments, 40 bytes      |
///
/// Invariants
///   L1  A message is in one place: a slot of a mailbox, a carriage, or a slot in the frame of a sender that waits. Its
///       arguments go from one to the next by kind::move, which leaves the old place empty.
///   L2  A message ends in one of two ways, once: kind::run calls, with the arguments where they are, and ends them;
///       or kind::drop ends them. Whoever asked is told in both.
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
namespace detail::typed {

struct cell;
struct slot;

/// What can be done with a message whose class is known no more.
struct kind {
  /// The actor's engine. \throws what the handler throws.
  void (*run)(slot& s, void* object);
  /// Arguments. Null: they are bytes.
  void (*move)(std::byte* from, std::byte* to) noexcept;
  /// The arguments end. An asker gets an `unanswered` that says so.
  void (*drop)(slot& s, const dead_letter& as) noexcept;
  std::string_view method;
  std::size_t bytes;  // of arguments; a multiple of 8, from 8 to slot::room

  /// L1. Word by word, as they were written: what is read in larger pieces than it was written in waits for the store
  /// buffer.
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

/// What slots are linked by.
struct link {
  union {
    slot* next;  // in a mailbox, or free
    cell* to;    // with a sender
  };
};

struct alignas(cache_line) slot : link {
  static constexpr std::size_t room = 40;
  static constexpr std::size_t alignment = 8;

  const kind* what;
  std::uint64_t which;  // actor of those that lived there, and class of its object: see address
  alignas(alignment) std::byte room_[room];

  [[nodiscard]] std::uint32_t life() const noexcept { return static_cast<std::uint32_t>(which); }
  /// The object's part that the message is for.
  template <typename T>
  [[nodiscard]] T& part_of(void* object) const noexcept {
    return *reinterpret_cast<T*>(static_cast<std::byte*>(object) + static_cast<std::int32_t>(which >> 32));
  }
  /// L1. All but `next` and `to`.
  void move_to(slot& other) noexcept {
    other.what = what;
    other.which = which;
    what->move_arguments(room_, other.room_);
  }
};
static_assert(sizeof(slot) == cache_line && slot::alignment == 8 && slot::room == 40);

/// The arguments of a message, copied or moved from the caller's. Unlike std::tuple it is bytes where they are.
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

  /// As the handler's parameters `P` want them: a value or an rvalue reference is moved from.
  template <typename... P, typename F>
  decltype(auto) give_to(F&& f) {
    return std::forward<F>(f)(static_cast<P&&>(static_cast<value_at<I, T>&>(*this).value)...);
  }
};
template <typename... T>
using values = values_of<std::index_sequence_for<T...>, T...>;

/// Whether a T lies in the slot itself; else the slot has a pointer to it, and a message costs an allocation.
template <typename T>
inline constexpr bool fits =
    sizeof(T) <= slot::room && alignof(T) <= slot::alignment && std::is_nothrow_move_constructible_v<T>;
template <typename T>
using kept = std::conditional_t<fits<T>, T, std::unique_ptr<T>>;

template <typename T>
[[nodiscard]] kept<T>& kept_at(std::byte* place) noexcept {
  return *std::launder(reinterpret_cast<kept<T>*>(place));
}
template <typename T>
[[nodiscard]] kept<T>& kept_in(slot& s) noexcept {
  return kept_at<T>(s.room_);
}
/// kind::bytes of a message that carries a T.
template <typename T>
inline constexpr std::size_t bytes_of = (sizeof(kept<T>) + slot::alignment - 1) / slot::alignment * slot::alignment;
template <typename T>
[[nodiscard]] T& content(kept<T>& k) noexcept {
  if constexpr (fits<T>) {
    return k;
  } else {
    return *k;
  }
}

/// What kind::move is for a message that carries a T.
template <typename T>
void move_kept(std::byte* from, std::byte* to) noexcept {
  ::new (static_cast<void*>(to)) kept<T>(std::move(kept_at<T>(from)));
  kept_at<T>(from).~kept<T>();
}
template <typename T>
inline constexpr auto mover = std::is_trivially_copyable_v<kept<T>> ? nullptr : &move_kept<T>;

}  // namespace detail::typed
}  // namespace v1
}  // namespace shunt
