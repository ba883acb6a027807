/// Messages as lambdas: what to do travels to the part it concerns.
///
/// ```cpp
/// pgas::symmetric<std::vector<long>> histogram(me, 1000);
/// pgas::actor_of updates(histogram);
/// for (const std::size_t key : keys) {
///   updates.send(static_cast<int>(key / 1000), [spot = key % 1000](auto& counts) { ++counts[spot]; });
/// }
/// updates.finish();  // every update has happened, everywhere
/// ```
///
/// The message is the lambda's captures and nothing else; which lambda it is, is said once per batch of equal ones.
/// What may be captured: values (trivially copyable), among them the local_part of a symmetric object. Not references
/// or pointers: they mean nothing on another PE, and where SHUNT_CHECK=1 is set (options::check) those to the sender's
/// stack end the job. The handler gets a reference to each symmetric part that the actor was made of, on the
/// destination PE, in the order given; and, if it asks for one more parameter, a `here`, through which it sends on. It
/// may also take nothing, and use the local_parts that it captured.
///
/// Tasks and fibers of a PE (shunt/task.hpp) may send, ask and fetch, on whatever worker of the process they run. The
/// PE waits for them before done() or finish(): `shunt::finish([&] { … async(…) … }); updates.finish();`
///
/// Handlers of one PE run one at a time with everything else of that PE: whenever its program, or another one on the
/// same worker, sends or waits. They must not wait. Between two sends to one PE by one program order is not promised.
///
/// Source: Paul, Hayashi, Chen, Sarkar, "A productive and scalable actor-based programming system for PGAS
/// applications", arXiv:2107.05516: actors, selectors, finish. Requests with replies, and quiesce(), are ours.
#pragma once

#include <array>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <source_location>
#include <string>
#include <tuple>
#include <vector>

#include <shunt/pgas/detail/fetches.hpp>
#include <shunt/pgas/detail/requests.hpp>
#include <shunt/pgas/mailbox_order.hpp>
#include <shunt/pgas/symmetric.hpp>
#include <shunt/task/future.hpp>

namespace shunt {
inline namespace v1 {
namespace pgas {

/// What may be sent: a lambda or function object whose captures are values.
template <class F>
concept handler_function =
    std::is_trivially_copyable_v<F> && std::is_trivially_destructible_v<F> && alignof(F) <= rail::good_alignment;

/// What may be the items of a message of varying length.
template <class T>
concept payload_item = std::is_trivially_copyable_v<T> && alignof(T) <= wire::span_alignment;

template <std::size_t Mailboxes, class... Parts>
class selector_of;

/// Where a handler runs, and how it sends on. A parameter of handlers: `[](auto& part, auto& here) { … }`.
template <std::size_t Mailboxes, class... Parts>
class here_of {
 public:
  explicit here_of(detail::arrival& a) noexcept : a_(&a) {}

  /// The PE whose part this is, and the PE that sent the message.
  [[nodiscard]] int index() const noexcept { return a_->way.to; }
  [[nodiscard]] int from() const noexcept { return a_->way.from; }
  [[nodiscard]] int count() const noexcept { return a_->at->facts.pes; }

  /// As selector_of::send(), without ever waiting. To this handler's own mailbox or an earlier one only where the
  /// programs use quiesce() and not finish().
  template <std::size_t Mailbox = 0, handler_function F>
  void send(int to, const F& f, std::source_location where = std::source_location::current());
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
  /// What the states of such selectors are called.
  static constexpr std::string_view owner() { return wire::type_name<std::tuple<Parts...>>(); }

  /// Whether a handler takes nothing at all: then what it captured names what it changes (local_part).
  template <class F, class... Extra>
  static constexpr bool takes_nothing = sizeof...(Parts) > 0 && sizeof...(Extra) == 0 && std::is_invocable_v<const F&>;

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

  template <std::size_t Mailbox, class F>
  struct one_way {
    static void unload(void* what) {
      auto& a = *static_cast<arrival*>(what);
      each_message<F>(a, [&a](const F& f) __attribute__((always_inline)) { call(f, a); });
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
      each_span<F>(a, [&a](const F& f, std::span<const std::byte> payload) { call(f, a, view_of<T>(payload)); });
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
class selector_of {
  using form = detail::lambda_form<Mailboxes, Parts...>;

 public:
  /// Collective; waits for the PEs of its worker. \param parts  symmetric objects of one PE; they must outlive the
  /// selector.
  explicit selector_of(symmetric<Parts>&... parts)
    requires(sizeof...(Parts) > 0)
      : selector_of(std::get<0>(std::tie(parts...)).owner(), std::vector<std::uint64_t>(), parts...) {}
  /// The same. \param order  which mailboxes end before which \throws what mailbox_order::feeders() throws.
  explicit selector_of(const mailbox_order& order, symmetric<Parts>&... parts)
    requires(sizeof...(Parts) > 0)
      : selector_of(std::get<0>(std::tie(parts...)).owner(), order.feeders(Mailboxes, form::owner()), parts...) {}
  /// The same without parts: its handlers use the local_parts that they captured.
  explicit selector_of(pe& me)
    requires(sizeof...(Parts) == 0)
      : selector_of(me, std::vector<std::uint64_t>()) {}
  explicit selector_of(const mailbox_order& order, pe& me)
    requires(sizeof...(Parts) == 0)
      : selector_of(me, order.feeders(Mailboxes, form::owner())) {}
  selector_of(const selector_of&) = delete;
  selector_of& operator=(const selector_of&) = delete;

  /// Collective: finish(), then gone. While an exception passes, or after the job has failed, it only goes.
  ~selector_of() noexcept(false) {
    const auto id = state_->id;
    if (std::uncaught_exceptions() == 0 && !worker_->leaving()) {
      try {
        if (!end_.valid()) worker_->refuse_forgotten_finish(*state_, pe_);
        finish();
      } catch (...) {
        worker_->forget_selector(id, pe_);
        me_->free_selector_id(id);
        throw;
      }
    }
    worker_->forget_selector(id, pe_);
    me_->free_selector_id(id);
  }

  /// One-sided. Runs f(parts...) on PE `to`, some time before finish() returns.
  /// \param to  0..count-1, this PE included.
  /// \throws shunt::error for a PE out of range, a message too long for a train, a mailbox that is done.
  /// Cost: a comparison and a copy of the captures; a train's hand-over every few thousand. Waits, making progress,
  /// when every train is under way.
  template <std::size_t Mailbox = 0, handler_function F>
  [[gnu::always_inline]] void send(int to, const F& f,
                                   const std::source_location where = std::source_location::current()) {
    static_assert(Mailbox < Mailboxes);
    detail::outbound::send(pe_, to, key<form::template takes_here<F>>(form::template one_way<Mailbox, F>::entry), f,
                           where);
  }

  /// One-sided. As send<Mailbox>(to, f), to a mailbox that is chosen while running.
  /// \param mailbox  0..Mailboxes-1
  /// \throws usage_error also for a mailbox that the selector does not have.
  template <handler_function F>
  void send_through(std::size_t mailbox, int to, const F& f,
                    const std::source_location where = std::source_location::current()) {
    if (mailbox >= Mailboxes) detail::refuse_mailbox(pe_, "send_through()", mailbox, *state_, where);
    detail::outbound::send(pe_, to, key<form::template takes_here<F>>(form::template one_way_through<F>(mailbox)), f,
                           where);
  }

  /// One-sided. A message of varying length: runs f(parts..., payload) on PE `to`. The payload arrives as a
  /// std::span<const T>, characters as a std::string_view; it is gone when the handler returns.
  template <std::size_t Mailbox = 0, payload_item T, handler_function F>
  void send(int to, std::span<const T> payload, const F& f,
            const std::source_location where = std::source_location::current()) {
    static_assert(Mailbox < Mailboxes);
    static_assert(sizeof(F) % alignof(T) == 0 || std::is_empty_v<F>,
                  "captures in front of a payload keep the payload's alignment: capture larger items, or more");
    const auto captures = std::as_bytes(std::span<const F, 1>(&f, 1));
    const auto k = key<false>(form::template with_payload<Mailbox, F, T>::entry);
    if (detail::may_be_read<F> && worker_->checks_here()) [[unlikely]] {
      F words = f;
      detail::clear_padding(&words);
      detail::send_check::look_at(worker_->selectors, pe_, to, k, std::as_bytes(std::span<const F, 1>(&words, 1)),
                                  where);
    }
    worker_->out.send_span(pe_, to, k, std::is_empty_v<F> ? captures.first(0) : captures, std::as_bytes(payload),
                           where);
  }
  template <std::size_t Mailbox = 0, handler_function F>
  void send(int to, std::string_view text, const F& f,
            const std::source_location where = std::source_location::current()) {
    send<Mailbox>(to, std::span<const char>(text.data(), text.size()), f, where);
  }

  /// One-sided. Request and reply: runs `f(parts...)` on PE `to`, then `then(parts..., result)` on this PE, with this
  /// PE's parts. Both have happened when finish() returns. The message is `f`'s captures, the reply its result:
  /// `then`'s captures stay here (over two hops they travel along).
  template <std::size_t Mailbox = 0, handler_function F, handler_function Then>
  [[gnu::always_inline]] void ask(int to, const F& f, const Then& then,
                                  const std::source_location where = std::source_location::current()) {
    static_assert(Mailbox < Mailboxes);
    detail::requests<typename form::template asking<Mailbox, F, Then>>::send(asker_bits_, pe_, to, f, then, where);
  }

  /// One-sided. The same for one value, now: sends, waits for the reply, returns it. Costs a round trip; for many,
  /// ask().
  template <std::size_t Mailbox = 0, handler_function F>
  [[nodiscard]] auto fetch(int to, const F& f, const std::source_location where = std::source_location::current()) {
    using result = typename form::template result_of<F>;
    if (worker_->called_by_task(pe_, where)) [[unlikely]]
      return fetch_in_task<Mailbox>(to, f, where);
    worker_->refuse_in_handler("fetch()");
    sched::this_fiber::lend_frame("fetch()");
    const sched::this_fiber::stay on_this_worker;
    std::optional<result> value;
    // Where trains go straight the place stays at home. Over two hops it travels with the request: what comes back is
    // compared before it is used.
    auto* const place = &value;
    const auto then = [place](Parts&..., const result& r, auto& here) {
      if (here.a_->at->facts.hops != 1) here.a_->at->awaited.check(place, &detail::type_mark<result>);
      *place = r;
    };
    detail::requests<typename form::template asking<Mailbox, F, std::remove_const_t<decltype(then)>>>::wait_themselves(
        *worker_);
    const detail::awaited_value announced(*worker_, place, &detail::type_mark<result>);
    ask<Mailbox>(to, f, then, where);
    worker_->selectors.finish_construction(pe_);
    worker_->until("fetch()", [&value] { return value.has_value(); });
    return *value;
  }

  /// Local. This PE's program sends no more to the mailbox in this epoch (handlers of earlier mailboxes may).
  /// Optional: finish() says it for all. Earlier, it lets others end earlier.
  template <std::size_t Mailbox = 0>
  void done() {
    static_assert(Mailbox < Mailboxes);
    done(Mailbox);
  }
  /// The same, for a mailbox that is chosen while running. \throws usage_error for one that the selector does not have.
  void done(std::size_t mailbox, const std::source_location where = std::source_location::current()) {
    worker_->say_done(*state_, pe_, mailbox, done_, where);
  }

  /// Collective. Says done() for every mailbox, and returns when every message sent before it, by any PE, and all that
  /// their handlers sent on to later mailboxes, have been processed everywhere. Then the selector may be used again.
  /// Cost: one message deep per mailbox, then a barrier.
  void finish() { worker_->finish_selector(*state_, pe_, done_, end_); }

  /// Collective, but waits for the PEs of its worker only, and not for messages: the selector's end as a future. Says
  /// done() for every mailbox. The future is satisfied when finish() would return, on every PE; from then on the parts
  /// are as the messages left them, since the selector is used no more: a send after it is an error.
  /// A shunt::finish() around the call waits for it, and so do finish() and the destructor, if the future is dropped.
  /// It throws if the job fails before. Cost: a fiber of each worker, and that of finish().
  shunt::future<void> ending() {
    worker_->end_selector(*state_, pe_, done_, end_);
    return end_;
  }

  /// Collective. The same where handlers send to any mailbox, their own included: returns when no message is under way
  /// anywhere. Cost: a few waves, each 2*log2(workers) messages deep.
  void quiesce() {
    worker_->refuse_in_task(pe_, "quiesce()");
    worker_->ending.quiesce(*state_, pe_);
  }

 private:
  /// \param feeders  as detail::selector_table::construct()
  selector_of(pe& me, const std::vector<std::uint64_t>& feeders, symmetric<Parts>&... parts)
      : me_(&me), refs_{&*parts...} {
    static_assert(Mailboxes >= 1 && Mailboxes <= detail::most_mailboxes);
    worker_ = &me_->home();
    pe_ = me_->index();
    const auto id = me_->next_selector_id();
    state_ = &worker_->construct_selector(id, Mailboxes, form::owner(), feeders);
    selector_bits_ = detail::selector_bits(id);
    sender_bits_ = worker_->out.sender_bits(id, pe_);
    asker_bits_ = worker_->out.sender_bits(id, pe_, true);
    if (worker_->facts.checked) (state_->add_part(worker_->facts.local_pe(pe_), *parts), ...);
    if constexpr (form::single) {
      worker_->selectors.part_ready(*state_, pe_, std::get<0>(refs_));
    } else {
      worker_->selectors.part_ready(*state_, pe_, &refs_);
    }
  }
  /// Of a task on another worker: the PE's worker sends the request, and its reply comes there.
  template <std::size_t Mailbox, handler_function F>
  [[nodiscard]] auto fetch_in_task(int to, const F& f, const std::source_location where) {
    using result = typename form::template result_of<F>;
    sched::this_fiber::require_wait("fetch()");
    sched::this_fiber::lend_frame("fetch()");
    const auto reply = std::make_shared<detail::reply_to_task<result>>(*worker_);
    worker_->of_tasks.add([this, to, f, place = reply.get(), where] {
      place->expect_reply();
      const auto then = [place](Parts&..., const result& r, auto& here) {
        if (here.a_->at->facts.hops != 1) here.a_->at->awaited.check(place, &detail::type_mark<result>);
        place->set(r);
      };
      detail::requests<
          typename form::template asking<Mailbox, F, std::remove_const_t<decltype(then)>>>::wait_themselves(*worker_);
      ask<Mailbox>(to, f, then, where);
    });
    reply->wait(reply);
    return *reply->value;
  }
  template <bool Named>
  [[nodiscard]] detail::batch_key key(const wire::handler& entry) const noexcept {
    return detail::key_of(entry, Named ? sender_bits_ : selector_bits_);
  }

  pe* me_;
  detail::pe_worker* worker_ = nullptr;
  detail::selector_state* state_ = nullptr;
  detail::batch_key selector_bits_ = 0;  // of keys for handlers that do not ask for the sender
  detail::batch_key sender_bits_ = 0;    // and for those that do
  detail::batch_key asker_bits_ = 0;     // and for requests
  int pe_ = 0;
  std::array<bool, Mailboxes> done_{};
  shunt::future<void> end_;  // of ending()
  detail::part_refs<Parts...> refs_;
};

/// An actor: a selector with one mailbox.
template <class... Parts>
class actor_of : public selector_of<1, Parts...> {
 public:
  using selector_of<1, Parts...>::selector_of;
};
template <class... Parts>
actor_of(symmetric<Parts>&...) -> actor_of<Parts...>;
actor_of(pe&) -> actor_of<>;

/// A selector with N mailboxes: `auto s = pgas::make_selector<2>(table);`
template <std::size_t Mailboxes, class... Parts>
[[nodiscard]] selector_of<Mailboxes, Parts...> make_selector(symmetric<Parts>&... parts) {
  return selector_of<Mailboxes, Parts...>(parts...);
}
template <std::size_t Mailboxes>
[[nodiscard]] selector_of<Mailboxes> make_selector(pe& me) {
  return selector_of<Mailboxes>(me);
}

/// The same, with a mailbox_order: `auto s = pgas::make_selector<3>(pgas::mailbox_order{{2, {0, 1}}}, table);`
template <std::size_t Mailboxes, class... Parts>
[[nodiscard]] selector_of<Mailboxes, Parts...> make_selector(const mailbox_order& order, symmetric<Parts>&... parts) {
  return selector_of<Mailboxes, Parts...>(order, parts...);
}
template <std::size_t Mailboxes>
[[nodiscard]] selector_of<Mailboxes> make_selector(const mailbox_order& order, pe& me) {
  return selector_of<Mailboxes>(order, me);
}

template <std::size_t Mailboxes, class... Parts>
template <std::size_t Mailbox, handler_function F>
void here_of<Mailboxes, Parts...>::send(int to, const F& f, std::source_location where) {
  static_assert(Mailbox < Mailboxes);
  using form = detail::lambda_form<Mailboxes, Parts...>;
  const auto key =
      detail::key_of(form::template one_way<Mailbox, F>::entry, a_->sender_bits(form::template takes_here<F>));
  detail::outbound::send(a_->way.to, to, key, f, where);
}
template <std::size_t Mailboxes, class... Parts>
template <handler_function F>
void here_of<Mailboxes, Parts...>::send_through(std::size_t mailbox, int to, const F& f, std::source_location where) {
  using form = detail::lambda_form<Mailboxes, Parts...>;
  if (mailbox >= Mailboxes) detail::refuse_mailbox(a_->way.to, "send_through()", mailbox, *a_->of, where);
  const auto key =
      detail::key_of(form::template one_way_through<F>(mailbox), a_->sender_bits(form::template takes_here<F>));
  detail::outbound::send(a_->way.to, to, key, f, where);
}

}  // namespace pgas
}  // namespace v1
}  // namespace shunt
