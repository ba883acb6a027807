/// A batch under construction: which messages it takes, and where the next one goes.
///
///   train | batch_head | message | message |   free   |        a send buffer's cursor, key and limit
///                                          ^ cursor   ^ limit
///
/// One comparison of keys and one of addresses say whether a message may be added. While a buffer has no train, limit
/// equals cursor; while it has no batch, its key is 0. Neither is a case of its own.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include <shunt/base/cache_line.hpp>
#include <shunt/rail/endpoint.hpp>
#include <shunt/wire.hpp>

namespace shunt {
inline namespace v1 {
namespace pgas {
namespace detail {

/// What the messages of a batch have in common: handler, selector and, in plain batches for handlers that ask for the
/// sender, the sending PE. Never 0.
using batch_key = std::uint64_t;

inline constexpr batch_key forwarding = batch_key{1} << 62;  // the second of two hops

[[nodiscard]] inline batch_key key_of(const wire::handler& entry, batch_key sender_bits) noexcept {
  return entry.key_bits() | sender_bits;
}
[[nodiscard]] constexpr batch_key selector_bits(std::uint16_t selector) noexcept { return batch_key{selector} << 16; }
[[nodiscard]] constexpr std::uint16_t selector_id_of(batch_key key) noexcept {
  return static_cast<std::uint16_t>(key >> 16);
}
[[nodiscard]] inline const wire::handler& entry_of(batch_key key) noexcept {
  return wire::handler_table::at(static_cast<std::uint16_t>(key >> 32));
}

/// Wherever batches start.
[[nodiscard]] inline std::uintptr_t aligned_for_batch(std::uintptr_t p) noexcept {
  return wire::round_up(p, wire::batch_alignment);
}
[[nodiscard]] inline std::uintptr_t address(const std::byte* p) noexcept { return reinterpret_cast<std::uintptr_t>(p); }
[[nodiscard]] inline std::byte* bytes_at(std::uintptr_t p) noexcept { return reinterpret_cast<std::byte*>(p); }

/// What a worker keeps for one destination on one channel: the open train, and the open batch in it.
struct alignas(cache_line) send_buffer : rail::outgoing {
  std::uintptr_t cursor = 0;          // address of the next message
  std::uintptr_t limit = 0;           // end of the train; == cursor while there is none
  batch_key key = 0;                  // of the open batch; 0: none
  wire::batch_head* batch = nullptr;  // the open batch
  std::uintptr_t continuations = 0;   // of an open batch of requests: where the next continuation is kept; 0: none

  [[nodiscard]] bool takes(batch_key wanted, std::size_t bytes) const noexcept {
    return key == wanted && cursor + bytes <= limit;
  }
  /// Whether a new batch with one message of so many bytes fits behind the open one.
  [[nodiscard]] bool fits_batch(std::size_t message_bytes) const noexcept {
    return aligned_for_batch(cursor) + sizeof(wire::batch_head) + message_bytes <= limit;
  }
  /// The train has just been opened.
  void begin_train() noexcept {
    cursor = address(open->goods());
    limit = cursor + open->capacity;
  }
  /// Bytes that the train carries so far.
  [[nodiscard]] std::uint32_t bytes() const noexcept {
    return static_cast<std::uint32_t>(cursor - address(open->goods()));
  }
  /// Appends a message of varying length to the open batch, which takes it.
  void append_span(wire::route way, std::span<const std::byte> captures, std::span<const std::byte> payload) noexcept {
    const std::size_t bytes = captures.size() + payload.size();
    auto* head = ::new (static_cast<void*>(bytes_at(cursor))) wire::span_head;
    head->way = way;
    head->bytes = static_cast<std::uint32_t>(bytes);
    std::byte* const body = bytes_at(cursor) + sizeof(wire::span_head);
    cursor += wire::round_up(sizeof(wire::span_head) + bytes, wire::span_alignment);
    ++batch->count;
    if (!captures.empty()) std::memcpy(body, captures.data(), captures.size());
    if (!payload.empty()) std::memcpy(body + captures.size(), payload.data(), payload.size());
  }
};
static_assert(sizeof(send_buffer) == cache_line, "the fast path of send() touches one line of it");

}  // namespace detail
}  // namespace pgas
}  // namespace v1
}  // namespace shunt
