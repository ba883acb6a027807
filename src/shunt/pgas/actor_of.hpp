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
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <vector>

#include <shunt/pgas/detail/fetches.hpp>
#include <shunt/pgas/detail/requests.hpp>
#include <shunt/pgas/handler.hpp>
#include <shunt/pgas/mailbox_order.hpp>
#include <shunt/pgas/symmetric.hpp>
#include <shunt/task/future.hpp>

namespace shunt {
inline namespace v1 {
namespace pgas {

namespace detail {
struct end_of;
}  // namespace detail

/// A selector: `Mailboxes` mailboxes, 1..64, which carry lambdas to the parts of symmetric objects on any PE; see the
/// head of this file. make_selector() makes one; actor_of has one mailbox. The PE's program constructs it, calls its
/// collective functions and destroys it; a task on another worker gets usage_error there.
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
  /// Without parts, too. \param order  which mailboxes end before which \throws what mailbox_order::feeders() throws.
  explicit selector_of(const mailbox_order& order, pe& me)
    requires(sizeof...(Parts) == 0)
      : selector_of(me, order.feeders(Mailboxes, form::owner())) {}
  selector_of(const selector_of&) = delete;
  selector_of& operator=(const selector_of&) = delete;

  /// Collective: finish(), then gone. While an exception passes, or after the job has failed, it only goes.
  [[gnu::noinline]] ~selector_of() noexcept(false) {
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
    static_assert(Mailbox < Mailboxes, "send: the selector has no such mailbox; the first one is mailbox 0");
    static_assert(!form::template is_mutable<F>, "send: a handler is called as const: the lambda must not be mutable");
    static_assert(
        form::template handles<F> || form::template is_mutable<F>,
        "send: a handler takes a reference to each part of its actor, in order, and `auto& here` if it likes");
    if constexpr (Mailbox < Mailboxes && form::template handles<F>) {
      detail::outbound::send(pe_, to, key<form::template says_sender<F>>(form::template one_way<Mailbox, F>::entry), f,
                             where);
    }
  }
  /// Chosen for what cannot travel.
  template <std::size_t Mailbox = 0, class F>
    requires(!handler_function<F>)
  void send(int, const F&, std::source_location = std::source_location::current()) {
    static_assert(std::is_trivially_copyable_v<F> && std::is_trivially_destructible_v<F>,
                  "send: the lambda captures what is not copied as bytes, such as a std::string or a std::vector; send "
                  "its characters or items as a payload: send(pe, payload, lambda)");
    static_assert(!std::is_trivially_copyable_v<F> || std::is_standard_layout_v<F>,
                  "send: the lambda captures a reference, which means nothing on another PE: capture a value, or the "
                  "local_part of a symmetric object");
    static_assert(alignof(F) <= rail::good_alignment, "send: a capture is aligned to more than a train is");
  }

  /// One-sided. As send<Mailbox>(to, f), to a mailbox that is chosen while running.
  /// \param mailbox  0..Mailboxes-1
  /// \throws usage_error also for a mailbox that the selector does not have.
  template <handler_function F>
  void send_through(std::size_t mailbox, int to, const F& f,
                    const std::source_location where = std::source_location::current()) {
    if (mailbox >= Mailboxes) detail::refuse_mailbox(pe_, "send_through()", mailbox, *state_, where);
    detail::outbound::send(pe_, to, key<form::template says_sender<F>>(form::template one_way_through<F>(mailbox)), f,
                           where);
  }

  /// One-sided. A message of varying length: runs f(parts..., payload) on PE `to`. The payload arrives as a
  /// std::span<const T>, characters as a std::string_view; it is gone when the handler returns.
  template <std::size_t Mailbox = 0, payload_item T, handler_function F>
  void send(int to, std::span<const T> payload, const F& f,
            const std::source_location where = std::source_location::current()) {
    static_assert(Mailbox < Mailboxes, "send: the selector has no such mailbox; the first one is mailbox 0");
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
  /// The same for text: runs f(parts..., std::string_view) on PE `to`.
  template <std::size_t Mailbox = 0, handler_function F>
  void send(int to, std::string_view text, const F& f,
            const std::source_location where = std::source_location::current()) {
    send<Mailbox>(to, std::span<const char>(text.data(), text.size()), f, where);
  }

  /// Chosen for payloads, or captures in front of them, that cannot travel.
  template <std::size_t Mailbox = 0, class F>
    requires(!handler_function<F>)
  void send(int, std::string_view, const F&, std::source_location = std::source_location::current()) {
    static_assert(handler_function<F>,
                  "send: the lambda captures a reference, or what is not copied as bytes: capture plain values");
  }
  /// The same for spans.
  template <std::size_t Mailbox = 0, class T, class F>
    requires(!payload_item<T> || !handler_function<F>)
  void send(int, std::span<const T>, const F&, std::source_location = std::source_location::current()) {
    static_assert(handler_function<F>,
                  "send: the lambda captures a reference, or what is not copied as bytes: capture plain values");
    static_assert(
        payload_item<T>,
        "send: the payload's items must be trivially copyable, and aligned to at most 8 bytes: of strings send "
        "the characters, of others a struct of plain values");
  }

  /// One-sided. Request and reply: runs `f(parts...)` on PE `to`, then `then(parts..., result)` on this PE, with this
  /// PE's parts. Both have happened when finish() returns. The message is `f`'s captures, the reply its result:
  /// `then`'s captures stay here (over two hops they travel along).
  template <std::size_t Mailbox = 0, handler_function F, reply_function Then>
  [[gnu::always_inline]] void ask(int to, const F& f, const Then& then,
                                  const std::source_location where = std::source_location::current()) {
    static_assert(Mailbox < Mailboxes, "ask: the selector has no such mailbox; the first one is mailbox 0");
    detail::requests<typename form::template asking<Mailbox, F, Then>>::send(asker_bits_, pe_, to, f, then, where);
  }

  /// Chosen for what cannot travel.
  template <std::size_t Mailbox = 0, class F, class Then>
    requires(!handler_function<F> || !reply_function<Then>)
  void ask(int, const F&, const Then&, std::source_location = std::source_location::current()) {
    static_assert(handler_function<F>,
                  "ask: the request captures a reference, or what is not copied as bytes, such as "
                  "a std::string: capture plain values");
    static_assert(reply_function<Then>,
                  "ask: what is done with the reply captures what is not copied as bytes, such as "
                  "a std::string: capture plain values, or a reference to it");
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

  /// Chosen for what cannot travel.
  template <std::size_t Mailbox = 0, class F>
    requires(!handler_function<F>)
  void fetch(int, const F&, std::source_location = std::source_location::current()) {
    static_assert(handler_function<F>,
                  "fetch: the request captures a reference, or what is not copied as bytes, such "
                  "as a std::string: capture plain values");
  }

  /// Local. This PE's program sends no more to the mailbox in this epoch (handlers of earlier mailboxes may).
  /// Optional: finish() says it for all. Earlier, it lets others end earlier.
  template <std::size_t Mailbox = 0>
  void done() {
    static_assert(Mailbox < Mailboxes, "done: the selector has no such mailbox; the first one is mailbox 0");
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
  friend struct detail::end_of;

  // Out of line, as the destructor is: inlined beside a loop that sends, they leave it too few registers.
  /// \param feeders  as detail::selector_table::construct()
  [[gnu::noinline]] selector_of(pe& me, const std::vector<std::uint64_t>& feeders, symmetric<Parts>&... parts)
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
/// `actor_of a(table)`: the parts' types follow from the symmetric objects.
template <class... Parts>
actor_of(symmetric<Parts>&...) -> actor_of<Parts...>;
/// `actor_of a(me)`: without parts.
actor_of(pe&) -> actor_of<>;

namespace detail {
/// What a superstep ends of a selector. A type, for its friend.
struct end_of {
  template <class Selector>
  [[nodiscard]] static ending_selector changes(Selector& s) noexcept {
    return {s.state_, s.done_};
  }
};

template <class T>
inline constexpr bool is_symmetric = false;
template <class T>
inline constexpr bool is_symmetric<symmetric<T>> = true;
/// Stands for what is no symmetric object.
template <class T>
struct not_symmetric {};
}  // namespace detail
template <class T>
class actor_of<detail::not_symmetric<T>> {
 public:
  explicit actor_of(T&) {
    static_assert(std::is_void_v<T>,
                  "actor_of: an actor is made of symmetric objects: pgas::symmetric<T> s(me, ...); actor_of a(s);");
  }
};
/// Chosen for what is no symmetric object: it does not compile, and says why.
template <class T>
  requires(!detail::is_symmetric<T>)
actor_of(T&) -> actor_of<detail::not_symmetric<T>>;

/// A selector with N mailboxes: `auto s = pgas::make_selector<2>(table);`
template <std::size_t Mailboxes, class... Parts>
[[nodiscard]] selector_of<Mailboxes, Parts...> make_selector(symmetric<Parts>&... parts) {
  return selector_of<Mailboxes, Parts...>(parts...);
}
/// The same without parts.
template <std::size_t Mailboxes>
[[nodiscard]] selector_of<Mailboxes> make_selector(pe& me) {
  return selector_of<Mailboxes>(me);
}

/// The same, with a mailbox_order: `auto s = pgas::make_selector<3>(pgas::mailbox_order{{2, {0, 1}}}, table);`
template <std::size_t Mailboxes, class... Parts>
[[nodiscard]] selector_of<Mailboxes, Parts...> make_selector(const mailbox_order& order, symmetric<Parts>&... parts) {
  return selector_of<Mailboxes, Parts...>(order, parts...);
}
/// The same without parts, with a mailbox_order.
template <std::size_t Mailboxes>
[[nodiscard]] selector_of<Mailboxes> make_selector(const mailbox_order& order, pe& me) {
  return selector_of<Mailboxes>(order, me);
}

}  // namespace pgas
}  // namespace v1
}  // namespace shunt
