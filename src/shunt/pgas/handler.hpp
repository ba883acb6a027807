/// What the handlers of messages as lambdas may be, and `here`, through which they send on: see actor_of.hpp.
///
/// ```cpp
/// pgas::actor_of chain(table);
/// chain.send(1, [hops = 9](auto& counts, auto& here) {
///   ++counts[0];
///   if (hops > 0) here.send((here.index() + 1) % here.count(), [](auto& others) { ++others[0]; });
/// });
/// chain.quiesce();
/// ```
#pragma once

#include <cstddef>
#include <source_location>
#include <span>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include <shunt/pgas/detail/outbound.hpp>
#include <shunt/pgas/detail/requests.hpp>

namespace shunt {
inline namespace v1 {
namespace pgas {

/// What may be sent: a lambda or function object whose captures are values. A lambda that captures by reference has no
/// standard layout; nor has a function object, or a captured value, whose members differ in access or stand in two
/// classes of a hierarchy: give them one access, in one class. A captured pointer cannot be seen: options::check. Where
/// an actor has one part, `prepare(const Part&) const` of a function object is called some messages before its turn, to
/// prefetch what it will read.
template <class F>
concept handler_function = std::is_trivially_copyable_v<F> && std::is_trivially_destructible_v<F> &&
                           std::is_standard_layout_v<F> && alignof(F) <= rail::good_alignment;

/// What may be done with a reply: it runs on the PE that asked, so it may refer to what is there until finish().
template <class F>
concept reply_function =
    std::is_trivially_copyable_v<F> && std::is_trivially_destructible_v<F> && alignof(F) <= rail::good_alignment;

/// What may be the items of a message of varying length.
template <class T>
concept payload_item = std::is_trivially_copyable_v<T> && alignof(T) <= wire::span_alignment;

/// Messages as lambdas: actor_of.hpp.
template <std::size_t Mailboxes, class... Parts>
class selector_of;

/// Where a handler runs, and how it sends on. A parameter of handlers: `[](auto& part, auto& here) { … }`.
template <std::size_t Mailboxes, class... Parts>
class here_of {
 public:
  /// For the library's own use.
  explicit here_of(detail::arrival& a) noexcept : a_(&a) {}

  /// The PE whose part this is.
  [[nodiscard]] int index() const noexcept { return a_->way.to; }
  /// The PE that sent the message; where a reply is processed, the PE that answered.
  [[nodiscard]] int from() const noexcept { return a_->way.from; }
  [[nodiscard]] int count() const noexcept { return a_->at->facts.pes; }  ///< PEs of the job

  /// As selector_of::send(), without ever waiting. To this handler's own mailbox or an earlier one only where the
  /// programs use quiesce() and not finish().
  template <std::size_t Mailbox = 0, handler_function F>
  void send(int to, const F& f, std::source_location where = std::source_location::current());
  /// The same with a payload, as selector_of::send() takes it: runs f(parts..., payload).
  template <std::size_t Mailbox = 0, payload_item T, handler_function F>
  void send(int to, std::span<const T> payload, const F& f,
            std::source_location where = std::source_location::current());
  /// The same for text: runs f(parts..., std::string_view).
  template <std::size_t Mailbox = 0, handler_function F>
  void send(int to, std::string_view text, const F& f, std::source_location where = std::source_location::current()) {
    send<Mailbox>(to, std::span<const char>(text.data(), text.size()), f, where);
  }
  /// The same, to a mailbox that is chosen while running. \throws as selector_of::send_through().
  template <handler_function F>
  void send_through(std::size_t mailbox, int to, const F& f,
                    std::source_location where = std::source_location::current());

 private:
  friend class selector_of<Mailboxes, Parts...>;
  detail::arrival* a_;
};

namespace detail {

/// The parts of one PE, for an actor of several symmetric objects.
template <class... Parts>
using part_refs = std::tuple<Parts*...>;

template <std::size_t Mailboxes, class... Parts>
struct lambda_form {
  using here = here_of<Mailboxes, Parts...>;
  static constexpr bool single = sizeof...(Parts) == 1;
  static constexpr bool counts = single && (counting_part<Parts> && ...);
  /// What the states of such selectors are called.
  static constexpr std::string_view owner() { return wire::type_name<std::tuple<Parts...>>(); }

  /// Whether a handler takes nothing at all: then what it captured names what it changes (local_part).
  template <class F, class... Extra>
  static constexpr bool takes_nothing = sizeof...(Parts) > 0 && sizeof...(Extra) == 0 && std::is_invocable_v<const F&>;

  /// Whether f can be called with the parts, and with them only if it is not const.
  template <class F, class... Extra>
  static constexpr bool handles = std::is_invocable_v<const F&, Parts&..., Extra..., here&> ||
                                  takes_nothing<F, Extra...> || std::is_invocable_v<const F&, Parts&..., Extra...>;
  template <class F, class... Extra>
  static constexpr bool is_mutable = !handles<F, Extra...> && (std::is_invocable_v<F&, Parts&..., Extra..., here&> ||
                                                               std::is_invocable_v<F&, Parts&..., Extra...>);

  /// f(parts..., extra...), f(parts..., extra..., here) or f()
  template <class F, class... Extra>
  [[gnu::always_inline]] static decltype(auto) call(const F& f, arrival& a, Extra&&... extra) {
    const auto with = [&](Parts&... parts) -> decltype(auto) {
      if constexpr (std::is_invocable_v<const F&, Parts&..., Extra..., here&>) {
        here h(a);
        return f(parts..., std::forward<Extra>(extra)..., h);
      } else if constexpr (takes_nothing<F, Extra...>) {
        return f();
      } else {
        static_assert(
            std::is_invocable_v<const F&, Parts&..., Extra...>,
            "a handler takes a reference to each part of its actor, in order; then the reply or the payload "
            "if there is one; then, if it likes, `auto& here`; or, without reply and payload, nothing at all. "
            "It must be callable as const (not mutable).");
        return f(parts..., std::forward<Extra>(extra)...);
      }
    };
    if constexpr (single) {
      return with(a.part<std::tuple_element_t<0, std::tuple<Parts...>>>());
    } else {
      return std::apply([&](Parts*... p) -> decltype(auto) { return with(*p...); }, a.part<part_refs<Parts...>>());
    }
  }

  /// Of a counting part: messages of the sender under the handler are done.
  [[gnu::always_inline]] static void note_handled(arrival& a, std::size_t count) {
    (a.part<Parts>().note_handled(a.way.from, count), ...);
  }

  template <std::size_t Mailbox, class F>
  struct one_way {
    static void unload(void* what) {
      auto& a = *static_cast<arrival*>(what);
      const auto body = [&a](const F& f) __attribute__((always_inline)) { call(f, a); };
      if constexpr (single && (prepared_message<F, Parts> && ...)) {
        each_message_prepared<F>(a, body, [&a](const F& f) { (f.prepare(std::as_const(a.part<Parts>())), ...); });
      } else if constexpr (counts) {
        each_message_counted<F>(a, body, [&a](std::size_t count) { note_handled(a, count); });
      } else {
        each_message<F>(a, body);
      }
    }
    static inline const wire::handler entry{
        typeid(one_way), wire::type_name<F>(), unload, Mailbox, 0, wire::message_layout::of<F>(), owner()};
  };

  /// \return the handler of such messages through a mailbox that is chosen while running.
  template <class F>
  static const wire::handler& one_way_through(std::size_t mailbox) noexcept {
    return [mailbox]<std::size_t... I>(std::index_sequence<I...>) -> const wire::handler& {
      static constexpr const wire::handler* entries[] = {&one_way<I, F>::entry...};
      return *entries[mailbox];
    }(std::make_index_sequence<Mailboxes>{});
  }

  template <std::size_t Mailbox, class F, class T>
  struct with_payload {
    static void unload(void* what) {
      auto& a = *static_cast<arrival*>(what);
      each_span<F>(a, [&a](const F& f, std::span<const std::byte> payload) {
        call(f, a, view_of<T>(payload));
        if constexpr (counts) note_handled(a, 1);
      });
    }
    static inline const wire::handler entry{typeid(with_payload),
                                            wire::type_name<F>(),
                                            unload,
                                            Mailbox,
                                            wire::varying,
                                            wire::message_layout::varying_after<F>(),
                                            owner()};
  };

  /// Whether a handler can send on.
  template <class F>
  static constexpr bool takes_here = std::is_invocable_v<const F&, Parts&..., here&>;
  /// Whether a message says which PE sent it.
  template <class F>
  static constexpr bool says_sender = takes_here<F> || counts;

  template <class F>
  using result_of = std::remove_cvref_t<decltype(call(std::declval<const F&>(), std::declval<arrival&>()))>;

  /// `f` answers, `g` is what is done with the reply: requests.hpp.
  template <std::size_t Mailbox, class F, class G>
  struct asking {
    using ask = F;
    using then = G;
    using result = result_of<F>;
    static constexpr bool pure = !takes_here<F>;
    static constexpr std::uint8_t mailbox = Mailbox;
    static constexpr std::string_view name() { return wire::type_name<F>(); }
    static constexpr std::string_view owner() { return lambda_form::owner(); }
    [[gnu::always_inline]] static result answer(arrival& a, const F& f) { return call(f, a); }
    template <class... Result>
    [[gnu::always_inline]] static void done(arrival& a, const G& g, const Result&... value) {
      call(g, a, value...);
    }
  };
};

}  // namespace detail

template <std::size_t Mailboxes, class... Parts>
template <std::size_t Mailbox, handler_function F>
void here_of<Mailboxes, Parts...>::send(int to, const F& f, std::source_location where) {
  static_assert(Mailbox < Mailboxes, "send: the selector has no such mailbox; the first one is mailbox 0");
  using form = detail::lambda_form<Mailboxes, Parts...>;
  const auto key =
      detail::key_of(form::template one_way<Mailbox, F>::entry, a_->sender_bits(form::template says_sender<F>));
  detail::outbound::send(a_->way.to, to, key, f, where);
}
template <std::size_t Mailboxes, class... Parts>
template <std::size_t Mailbox, payload_item T, handler_function F>
void here_of<Mailboxes, Parts...>::send(int to, std::span<const T> payload, const F& f, std::source_location where) {
  static_assert(Mailbox < Mailboxes, "send: the selector has no such mailbox; the first one is mailbox 0");
  static_assert(sizeof(F) % alignof(T) == 0 || std::is_empty_v<F>,
                "captures in front of a payload keep the payload's alignment: capture larger items, or more");
  using form = detail::lambda_form<Mailboxes, Parts...>;
  const auto key = detail::key_of(form::template with_payload<Mailbox, F, T>::entry, a_->sender_bits(false));
  const auto captures = std::as_bytes(std::span<const F, 1>(&f, 1));
  a_->out->send_span(a_->way.to, to, key, std::is_empty_v<F> ? captures.first(0) : captures, std::as_bytes(payload),
                     where);
}
template <std::size_t Mailboxes, class... Parts>
template <handler_function F>
void here_of<Mailboxes, Parts...>::send_through(std::size_t mailbox, int to, const F& f, std::source_location where) {
  using form = detail::lambda_form<Mailboxes, Parts...>;
  if (mailbox >= Mailboxes) detail::refuse_mailbox(a_->way.to, "send_through()", mailbox, *a_->of, where);
  const auto key =
      detail::key_of(form::template one_way_through<F>(mailbox), a_->sender_bits(form::template says_sender<F>));
  detail::outbound::send(a_->way.to, to, key, f, where);
}

}  // namespace pgas
}  // namespace v1
}  // namespace shunt
