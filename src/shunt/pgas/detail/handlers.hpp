/// From a run of goods to calls of a handler: the unloading loops, with the handler inlined.
#pragma once

#include <cstring>
#include <optional>
#include <span>
#include <string_view>
#include <tuple>
#include <type_traits>

#include <shunt/pgas/detail/dock.hpp>

namespace shunt {
inline namespace v1 {
namespace pgas {
namespace detail {

/// Calls body(good, stop) for every good of a run. The loop over plain goods knows nothing but the goods.
template <class Good, class Body>
[[gnu::always_inline]] inline void each_good(arrival& a, Body body) {
  if (!a.tagged()) {
    const auto* good = reinterpret_cast<const Good*>(a.first);
    const auto* const last = reinterpret_cast<const Good*>(a.last);
    for (; good != last; ++good) body(*good);
  } else {
    using loaded = wire::tagged_good<Good>;
    const auto* good = reinterpret_cast<const loaded*>(a.first);
    const auto* const last = reinterpret_cast<const loaded*>(a.last);
    for (; good != last; ++good) {
      a.stop = good->at;
      body(good->good);
    }
  }
}

/// The same for goods of varying length: body(captures, payload).
template <class Captures, class Body>
void each_span(arrival& a, Body body) {
  for (std::byte* p = a.first; p != a.last;) {
    const auto* head = reinterpret_cast<const wire::span_head*>(p);
    a.stop = head->at;
    constexpr std::size_t captured = std::is_empty_v<Captures> ? 0 : sizeof(Captures);
    const std::byte* const start = p + sizeof(wire::span_head);
    const std::span payload(start + captured, head->bytes - captured);
    if constexpr (alignof(Captures) > wire::span_alignment) {
      alignas(Captures) std::byte copy[sizeof(Captures)];
      std::memcpy(copy, start, sizeof copy);
      body(*reinterpret_cast<const Captures*>(copy), payload);
    } else {
      body(*reinterpret_cast<const Captures*>(start), payload);
    }
    p += wire::round_up(sizeof(wire::span_head) + head->bytes, wire::span_alignment);
  }
}

/// The payload as the receiver sees it: characters as a string_view, others as a span.
template <class T>
[[nodiscard]] auto view_of(std::span<const std::byte> payload) noexcept {
  const auto* first = reinterpret_cast<const T*>(payload.data());
  if constexpr (std::is_same_v<T, char>) {
    return std::string_view(first, payload.size());
  } else {
    return std::span<const T>(first, payload.size() / sizeof(T));
  }
}

}  // namespace detail
}  // namespace pgas
}  // namespace v1
}  // namespace shunt
