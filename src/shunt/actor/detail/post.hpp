/// The way of a message from a ref: built where it will lie, and sent.
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <source_location>
#include <type_traits>
#include <utility>

#include <shunt/actor/detail/actor_system.hpp>
#include <shunt/actor/detail/dispatcher.hpp>
#include <shunt/actor/detail/envelope.hpp>
#include <shunt/actor/detail/method_call.hpp>
#include <shunt/base/call_site.hpp>
#include <shunt/sched.hpp>

namespace shunt {
inline namespace v1 {
namespace actor::detail {

/// A Message whose content has been made already.
template <typename Message>
struct rebuilt {
  using content = kept<typename Message::content>;
  static constexpr const char* call = Message::call;
  static constexpr const message_ops& ops = Message::ops;
};

/// \throws usage_error: the ref is null.
[[noreturn, gnu::cold]] void throw_null_ref(call_site call);
/// \throws usage_error: the period of a timer is not more than 0.
[[noreturn, gnu::cold]] void throw_no_period(call_site call);

template <typename Content, typename... A>
[[nodiscard]] kept<Content> make_kept(A&&... a) {
  if constexpr (fits<Content>) {
    return Content(std::forward<A>(a)...);
  } else {
    return std::make_unique<Content>(std::forward<A>(a)...);
  }
}

template <typename Message, typename... A>
[[gnu::always_inline]] inline void build_arguments(std::byte* place, A&&... a) {
  using content = typename Message::content;
  ::new (static_cast<void*>(place)) kept<content>(make_kept<content>(std::forward<A>(a)...));
}

/// Builds a message in an envelope that is the caller's until it is sent, or already lies in the mailbox: see plain.
template <typename Message, typename... A>
[[gnu::always_inline]] inline void build(envelope& e, const address& to, A&&... a) {
  e.ops = &Message::ops;
  e.target = to.target;
  build_arguments<Message>(e.arguments, std::forward<A>(a)...);
}

/// What registers hold is passed by value: what is passed by reference lies in memory, wherever the call stands.
template <typename A, typename Value = std::remove_cvref_t<A>>
inline constexpr bool by_registers = std::is_trivially_copyable_v<Value> && std::is_constructible_v<Value, A>;
template <typename A>
  requires(by_registers<A> && sizeof(std::remove_cvref_t<A>) <= 16)
std::remove_cvref_t<A> passed_as();
template <typename A>
A&& passed_as();
template <typename A>
using passed = decltype(passed_as<A>());

/// Whether the message can be built in its mailbox, or batch: no code of the program runs meanwhile, so no fiber looks
/// there.
template <typename Message, typename In, typename... A>
inline constexpr bool plain = false;
template <typename T, auto M, typename In, typename... A>
inline constexpr bool plain<tell_message<T, M>, In, A...> =
    fits<typename tell_message<T, M>::content> && method_traits<decltype(M)>::template plainly_from<A...>;
template <typename T, auto M, typename In, typename... A>
inline constexpr bool plain<ask_message<T, M>, In, A...> =
    fits<typename ask_message<T, M>::content> && method_traits<decltype(M)>::template plainly_from<A...>;

/// The longer way: a mailbox without vacant envelopes, another worker, another thread, a null ref, or a controlled
/// scheduler. Tries the ways that build the message in place, then builds it in this frame and sends it.
/// \param where  the line of the call, of which the message knows the name: so both take one register.
template <typename Message, typename... A>
[[gnu::noinline]] void post_slowly(address to, std::source_location where, A... a) {
  sched::this_fiber::interleave();
  if (to.to == nullptr) throw_null_ref({Message::call, where});
  if constexpr (plain<Message, A...>) {
    if (dispatcher* const at = dispatcher::quick(); at == to.to->home) {
      if (envelope* const e = at->own_mailboxes().place(*to.to, to.incarnation())) {
        return build<Message>(*e, to, std::forward<A>(a)...);
      }
    } else if (at != nullptr) {
      if (std::byte* const place = at->place_far(*to.to, to.target, Message::ops)) {
        build_arguments<Message>(place, std::forward<A>(a)...);
        return at->built_far(*to.to, Message::ops.bytes);
      }
    } else if (message_ring* const ring = outside_senders::ring_at_hand(*to.to)) {
      if (std::byte* const place = ring->place(*to.to, to.target, Message::ops)) {
        build_arguments<Message>(place, std::forward<A>(a)...);
        return outside_senders::publish(*to.to, *ring, Message::ops.bytes);
      }
    }
  }
  envelope e;
  build<Message>(e, to, std::forward<A>(a)...);
  e.to = to.to;
  dispatcher::send(e, {Message::call, where});
}

/// Builds a message and sends it. Copying `a` must not throw: it happens in the middle of the work. Most messages end
/// here: they are for an actor of this worker that has a vacant envelope, or is idle.
template <typename Message, typename... A>
[[gnu::always_inline]] inline void post(const address& to, std::source_location where, A&&... a) {
  if (to.to != nullptr) [[likely]] {
    dispatcher* const at = dispatcher::quick();
    if (at == to.to->home) [[likely]] {
      if constexpr (plain<Message, A...>) {
        if (to.to->incarnation == to.incarnation()) [[likely]] {
          if (envelope* const e = to.to->place()) return build<Message>(*e, to, std::forward<A>(a)...);
          if (to.to->state == cell_state::idle) {
            if (envelope* const e = at->try_take_envelope()) [[likely]] {
              build<Message>(*e, to, std::forward<A>(a)...);
              return at->tell_idle(*to.to, e);
            }
          }
        }
      } else if (envelope* const e = at->try_take_envelope()) {
        build<Message>(*e, to, std::forward<A>(a)...);
        return at->tell(*to.to, e, {Message::call, where});
      }
    }
  }
  post_slowly<Message, passed<A>...>(to, where, std::forward<A>(a)...);
}

/// The same for any `a`: what may throw is done before. (What cannot throw is not: building a message twice, and
/// reading at once what was just written in other pieces, would cost more than all the rest.)
template <typename Message, typename... A>
[[gnu::always_inline]] inline void post_safely(const address& to, std::source_location where, A&&... a) {
  using content = typename Message::content;
  if constexpr (fits<content> && std::is_nothrow_constructible_v<content, A...>) {
    post<Message>(to, where, std::forward<A>(a)...);
  } else {
    post<rebuilt<Message>>(to, where, make_kept<content>(std::forward<A>(a)...));
  }
}

}  // namespace actor::detail
}  // namespace v1
}  // namespace shunt
