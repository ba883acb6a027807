/// Messages between workers: what ends epochs, and what collective calls need.
///
/// They belong to no selector and no mailbox, and termination does not count them. A sum over their captures stands
/// where other messages have their route (validation.hpp, V4).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include <shunt/pgas/detail/batches.hpp>
#include <shunt/pgas/detail/collective_call.hpp>

namespace shunt {
inline namespace v1 {
namespace pgas {
namespace detail {

/// Says how many messages have left for the receiver since the last mark; or, of the selector as a whole, that it has
/// ended at the sender (hop 0), or at all of the sender's neighbours (hop 1).
struct end_mark {
  static constexpr std::uint8_t whole_selector = 0xff;

  std::uint64_t count;
  std::uint32_t digest;  // selector_state::digest
  std::uint16_t selector;
  std::uint8_t mailbox;  // or whole_selector
  std::uint8_t hop;
};
/// A round of a barrier.
struct barrier_token {
  std::uint64_t number;
  std::uint8_t round;
  collective_call::kind kind;
  std::uint8_t spare[2] = {};
  std::uint32_t past;  // the sender's call_history
};
/// The sender sleeps in its collective call of that number, counted from 0, or has passed it.
struct collective_notice {
  std::uint64_t number;
  std::uint16_t selector;
  collective_call::kind kind;
  std::uint8_t spare[5] = {};
};
/// The sender will send no more notices, and has sent so many.
struct leave_notice {
  std::uint64_t notices;
};
/// Bytes of a gather, up or down the tree.
struct gather_piece {
  std::uint32_t sequence;
  std::uint32_t total;
  std::uint32_t offset;
  std::uint16_t from;
  std::uint8_t down;  // 0 or 1
  std::uint8_t spare = 0;
};

/// Their bytes are added up, so none may be padding.
template <class T>
concept control_message = std::has_unique_object_representations_v<T> && sizeof(T) <= 32;
static_assert(control_message<end_mark> && control_message<barrier_token> && control_message<collective_notice> &&
              control_message<leave_notice> && control_message<gather_piece>);

/// The key of batches of such messages. Defined for the messages above.
template <control_message T>
[[nodiscard]] batch_key control_key() noexcept;
template <>
batch_key control_key<end_mark>() noexcept;
template <>
batch_key control_key<barrier_token>() noexcept;
template <>
batch_key control_key<collective_notice>() noexcept;
template <>
batch_key control_key<leave_notice>() noexcept;
template <>
batch_key control_key<gather_piece>() noexcept;

template <class T>
[[nodiscard]] std::span<const std::byte> bytes_of(const T& value) noexcept {
  return std::as_bytes(std::span<const T, 1>(&value, 1));
}

}  // namespace detail
}  // namespace pgas
}  // namespace v1
}  // namespace shunt
