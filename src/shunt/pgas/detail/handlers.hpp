/// From a batch of messages to calls of a handler: the unloading loops, with the handler inlined.
#pragma once

#include <cstddef>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>
#include <tuple>
#include <type_traits>

#include <shunt/pgas/detail/pe_worker.hpp>

namespace shunt {
inline namespace v1 {
namespace pgas {
namespace detail {

/// Calls body(message) for every message of a batch. The loop over plain messages knows nothing but the messages.
template <class Message, class Body>
[[gnu::always_inline]] inline void each_message(arrival& a, Body body) {
  if (!a.routed()) {
    const auto* message = reinterpret_cast<const Message*>(a.first);
    const auto* const last = reinterpret_cast<const Message*>(a.last);
    for (; message != last; ++message) body(*message);
  } else {
    using loaded = wire::routed_message<Message>;
    const auto* message = reinterpret_cast<const loaded*>(a.first);
    const auto* const last = reinterpret_cast<const loaded*>(a.last);
    for (; message != last; ++message) {
      a.way = message->way;
      body(message->message);
    }
  }
}

/// A message that knows beforehand what its handler will read: `m.prepare(part)` asks the processor for it, and does
/// nothing else.
template <class Message, class Part>
concept prepared_message = requires(const Message& m, const Part& part) { m.prepare(part); };

/// The same as each_message(); calls prepare(message) for each message some time before body(message), so that what
/// lies outside of the caches is on its way when it is used.
template <class Message, class Body, class Prepare>
[[gnu::always_inline]] inline void each_message_prepared(arrival& a, Body body, Prepare prepare) {
  constexpr std::ptrdiff_t ahead =
      12;  // messages: longer than a load from memory takes, fewer than a core has in flight
  const auto over = [&]<class Loaded>(const Loaded* message, const Loaded* last, const auto& ready, const auto& run) {
    const Loaded* next = message;
    for (; next != last && next - message < ahead; ++next) ready(*next);
    for (; message != last; ++message) {
      if (next != last) ready(*next++);
      run(*message);
    }
  };
  if (!a.routed()) {
    over(reinterpret_cast<const Message*>(a.first), reinterpret_cast<const Message*>(a.last), prepare, body);
  } else {
    using loaded = wire::routed_message<Message>;
    over(
        reinterpret_cast<const loaded*>(a.first), reinterpret_cast<const loaded*>(a.last),
        [&](const loaded& m) {
          a.way = m.way;
          prepare(m.message);
        },
        [&](const loaded& m) {
          a.way = m.way;
          body(m.message);
        });
  }
}

/// Whether a part counts: `part.note_handled(from, count)` is then told how many one-way messages of a PE have been
/// done. Only where a type asks for it by a specialization; a user's type may have a function of that name.
/// Messages of one length are told by the batch: counts lie in memory, and one by one each would wait for the one
/// before.
template <class Part>
inline constexpr bool counting_part = false;

/// The same as each_message(); calls done(count) when so many messages have been done. A message with a route has a
/// part of its own, which is known when its turn comes, and no earlier.
template <class Message, class Body, class Done>
[[gnu::always_inline]] inline void each_message_counted(arrival& a, Body body, Done done) {
  if (!a.routed()) {
    each_message<Message>(a, body);
    done(static_cast<std::size_t>(a.last - a.first) / sizeof(Message));
  } else {
    each_message<Message>(a, [&](const Message& message) {
      body(message);
      done(1);
    });
  }
}

/// The same for messages of varying length: body(captures, payload).
template <class Captures, class Body>
void each_span(arrival& a, Body body) {
  for (std::byte* p = a.first; p != a.last;) {
    const auto* head = reinterpret_cast<const wire::span_head*>(p);
    a.way = head->way;
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
template <class T>
using payload_view = decltype(view_of<T>({}));

}  // namespace detail
}  // namespace pgas
}  // namespace v1
}  // namespace shunt
