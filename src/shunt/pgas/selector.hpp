/// Messages as values: a class says what its mailboxes carry and how it processes each.
///
/// ```cpp
/// struct histogram : pgas::actor<histogram, std::uint32_t> {
///   explicit histogram(pgas::pe& me) : actor(me), counts(1000) {}
///   void process(std::uint32_t spot, int /*from*/) { ++counts[spot]; }
///   std::vector<long> counts;
/// };
/// histogram h(me);
/// h.send(pe, spot);
/// h.finish();
/// ```
///
/// A class that works on what other objects own needs no constructor: `struct histogram : pgas::actor<…> { void
/// process(…); std::vector<long>& counts; };` is an aggregate, made by `histogram h{{me}, *table}`.
///
/// A selector with several mailboxes names what each carries, `pgas::selector<gather, request, reply>`, and
/// processes by type, or, where two mailboxes carry the same type, by mailbox:
/// `process(pgas::mailbox_index<1>, long, int)`.
/// A mailbox of `pgas::varying<T>` carries any number of T: `send(pe, std::span<const T>)`, `process(std::span<const
/// T>)`; of `pgas::varying<char>` text: `process(std::string_view)`.
///
/// process() runs on the destination PE, on that PE's object; everything said of handlers in actor_of.hpp holds. It may
/// send() to later mailboxes; to its own or an earlier one where the programs use quiesce().
///
/// Source: as actor_of.hpp; `process`, `send` and `done` are that paper's.
#pragma once

#include <array>
#include <cstdint>
#include <exception>
#include <initializer_list>
#include <source_location>
#include <span>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <shunt/pgas/detail/requests.hpp>
#include <shunt/pgas/mailbox_order.hpp>
#include <shunt/pgas/pe.hpp>
#include <shunt/task/future.hpp>

namespace shunt {
inline namespace v1 {
namespace pgas {

/// Which mailbox a message came through.
template <std::size_t Index>
struct mailbox_index {};
/// The mailbox of that number: `mailbox<0>`.
template <std::size_t Index>
inline constexpr mailbox_index<Index> mailbox{};

/// A mailbox whose messages are any number of T.
template <class T>
struct varying {
  using item = T;  ///< what the messages consist of
};

/// A mailbox of requests, each with a reply: Self answers with `Reply process(Request, int from)`, and what the
/// requester kept comes back to it with the reply in `void replied(Kept, Reply, int from)`. The trailing `from` may be
/// left out. A process() that is const cannot send on, and is unloaded faster.
template <class Request, class Kept, class Reply>
struct asking {};

namespace detail {
template <class T>
inline constexpr bool is_asking = false;
template <class Request, class Kept, class Reply>
inline constexpr bool is_asking<asking<Request, Kept, Reply>> = true;

template <class T>
inline constexpr bool is_varying = false;
template <class T>
inline constexpr bool is_varying<varying<T>> = std::is_trivially_copyable_v<T> && alignof(T) <= wire::span_alignment;
}  // namespace detail

namespace detail {
/// What a mailbox carries that the selector does not have.
struct no_mailbox {};

/// Stands for an M where nothing else will do. Never called.
template <class M>
struct exactly {
  template <class U>
    requires std::is_same_v<U, M>
  operator U() const;
};
}  // namespace detail

/// What a mailbox may carry.
template <class T>
concept message =
    detail::is_varying<T> || detail::is_asking<T> ||
    (std::is_trivially_copyable_v<T> && alignof(T) <= rail::good_alignment && !std::is_pointer_v<T> && !requires {
      typename T::item;
      requires std::is_same_v<T, varying<typename T::item>>;
    });

/// The base of a class whose mailboxes carry values: see the head of this file.
/// \tparam Self      the class that derives from it
/// \tparam Messages  what each mailbox carries, mailbox 0 first
template <class Self, message... Messages>
class selector {
 public:
  static constexpr std::size_t mailboxes = sizeof...(Messages);  ///< how many it has
  /// What a mailbox carries; behind the last one, a type of the library's own.
  template <std::size_t Mailbox>
  using message_of = std::tuple_element_t<(Mailbox < sizeof...(Messages) ? Mailbox : sizeof...(Messages)),
                                          std::tuple<Messages..., detail::no_mailbox>>;

  selector(const selector&) = delete;
  selector& operator=(const selector&) = delete;

  /// One-sided. Self::process(message, from) runs on PE `to`, some time before finish() returns.
  /// \throws and cost: as selector_of::send().
  template <std::size_t Mailbox = 0>
    requires(Mailbox < mailboxes && !detail::is_varying<message_of<Mailbox>> && !detail::is_asking<message_of<Mailbox>>)
  [[gnu::always_inline]] void send(int to, const message_of<Mailbox>& m,
                                   const std::source_location where = std::source_location::current()) {
    static_assert(receiver<Mailbox>::processed(),
                  "send: the class needs a public process(message), process(message, int from) or "
                  "process(pgas::mailbox_index<N>, message, int from) for what this mailbox carries");
    if constexpr (receiver<Mailbox>::processed()) detail::outbound::send(pe_, to, key<Mailbox>(), m, where);
  }
  /// Chosen for a mailbox that there is not.
  template <std::size_t Mailbox, class M>
    requires(Mailbox >= mailboxes)
  void send(int, const M&, std::source_location = std::source_location::current()) {
    static_assert(Mailbox < mailboxes, "send: the selector has no such mailbox; the first one is mailbox 0");
  }

  /// One-sided. As send(), to a mailbox that is chosen while running, of those that carry an M.
  /// \throws usage_error also for a mailbox that the selector does not have, or that carries another type.
  template <class M>
    requires(std::is_same_v<M, Messages> || ...)
  void send_through(std::size_t mailbox, int to, const M& m,
                    const std::source_location where = std::source_location::current()) {
    const auto k = key_through<M>(mailbox, std::make_index_sequence<mailboxes>{});
    if (k == 0) detail::refuse_mailbox(pe_, "send_through()", mailbox, *state_, where);
    detail::outbound::send(pe_, to, k, m, where);
  }

  /// One-sided. To a mailbox of varying length.
  template <std::size_t Mailbox = 0>
    requires(detail::is_varying<message_of<Mailbox>>)
  void send(int to, std::span<const typename message_of<Mailbox>::item> items,
            const std::source_location where = std::source_location::current()) {
    worker_->out.send_span(pe_, to, key<Mailbox>(), {}, std::as_bytes(items), where);
  }
  /// One-sided. The same in one message, `front` before `items`: `send(pe, {row, place}, columns)`.
  template <std::size_t Mailbox = 0>
    requires(detail::is_varying<message_of<Mailbox>>)
  void send(int to, std::initializer_list<typename message_of<Mailbox>::item> front,
            std::span<const typename message_of<Mailbox>::item> items,
            const std::source_location where = std::source_location::current()) {
    const std::span<const typename message_of<Mailbox>::item> first(front.begin(), front.size());
    worker_->out.send_span(pe_, to, key<Mailbox>(), std::as_bytes(first), std::as_bytes(items), where);
  }

  /// One-sided. Request and reply, through a mailbox of asking<Request, Kept, Reply>: Self::process(request) runs on PE
  /// `to`, then Self::replied(kept, its result) on this one. Both have happened when finish() returns.
  template <std::size_t Mailbox = 0, class Request, class Kept>
    requires(detail::is_asking<message_of<Mailbox>>)
  [[gnu::always_inline]] void ask(int to, const Request& request, const Kept& kept,
                                  const std::source_location where = std::source_location::current()) {
    using policy = asking_policy<Mailbox, message_of<Mailbox>>;
    detail::requests<policy>::send(asker_bits_, pe_, to, typename policy::ask(request), typename policy::then(kept),
                                   where);
  }

  /// Local. This PE's program sends no more to the mailbox in this epoch.
  template <std::size_t Mailbox = 0>
  void done() {
    static_assert(Mailbox < mailboxes, "done: the selector has no such mailbox; the first one is mailbox 0");
    done(Mailbox);
  }
  /// The same, for a mailbox that is chosen while running. \throws usage_error for one that the selector does not have.
  void done(std::size_t mailbox, const std::source_location where = std::source_location::current()) {
    worker_->say_done(*state_, pe_, mailbox, done_, where);
  }

  /// Collective. As selector_of::finish(). Must be the last call before the object goes.
  void finish() { worker_->finish_selector(*state_, pe_, done_, end_); }

  /// Collective, but waits for the PEs of its worker only. As selector_of::ending(); but the object must live until
  /// then: one that is destroyed before its end fails the job.
  shunt::future<void> ending() {
    worker_->end_selector(*state_, pe_, done_, end_);
    return end_;
  }

  /// Collective. As selector_of::quiesce().
  void quiesce() {
    worker_->refuse_in_task(pe_, "quiesce()");
    worker_->ending.quiesce(*state_, pe_);
  }

  /// Local.
  [[nodiscard]] pe& me() const noexcept { return *me_; }

  /// Collective; waits for the PEs of its worker. Messages from faster PEs wait until this PE's program comes back to
  /// the library: by then Self is constructed. Implicit for aggregates, whose base is made from {me}.
  selector(pe& me) : selector(me, std::vector<std::uint64_t>()) {}
  /// The same. \param order  which mailboxes end before which \throws what mailbox_order::feeders() throws.
  selector(pe& me, const mailbox_order& order) : selector(me, order.feeders(mailboxes, wire::type_name<Self>())) {}
  /// Messages that no finish() or quiesce() waited for end the job with an error: no PE is left to process them.
  [[gnu::noinline]] ~selector() {
    if (std::uncaught_exceptions() == 0) worker_->refuse_unfinished(*state_, pe_);
    const auto id = state_->id;
    worker_->forget_selector(id, pe_);
    me_->free_selector_id(id);
  }

 private:
  // Out of line, as the destructor is: inlined beside a loop that sends, they leave it too few registers.
  /// \param feeders  as detail::selector_table::construct()
  [[gnu::noinline]] selector(pe& me, const std::vector<std::uint64_t>& feeders)
      : me_(&me), worker_(&me.home()), pe_(me.index()) {
    const auto id = me.next_selector_id();
    state_ = &worker_->construct_selector(id, mailboxes, wire::type_name<Self>(), feeders);
    selector_bits_ = detail::selector_bits(id);
    sender_bits_ = worker_->out.sender_bits(id, pe_);
    asker_bits_ = worker_->out.sender_bits(id, pe_, true);
    if (worker_->facts.checked) state_->add_object<Self>(worker_->facts.local_pe(pe_), *this);
    worker_->selectors.part_announced(*state_, pe_, this);
  }

  template <std::size_t Mailbox>
  struct receiver {
    static void unload(void* what) {
      auto& a = *static_cast<detail::arrival*>(what);
      using carried = message_of<Mailbox>;
      if constexpr (detail::is_varying<carried>) {
        detail::each_span<std::tuple<>>(a, [&a](const auto&, std::span<const std::byte> payload) {
          process(a, detail::view_of<typename carried::item>(payload));
        });
      } else {
        detail::each_message<carried>(a, [&a](const carried& m) __attribute__((always_inline)) { process(a, m); });
      }
    }
    /// Whether there is a process() for the messages: also one that takes what they convert to.
    static constexpr bool processed() {
      using m = message_of<Mailbox>;
      if constexpr (detail::is_varying<m>) {
        return true;  // said where it is called
      } else {
        return requires(Self& self, const m& it) { self.process(mailbox_index<Mailbox>{}, it, 0); } ||
               requires(Self& self, const m& it) { self.process(mailbox_index<Mailbox>{}, it); } ||
               requires(Self& self, const m& it) { self.process(it, 0); } ||
               requires(Self& self, const m& it) { self.process(it); };
      }
    }
    /// Whether process() asks for the sender.
    static constexpr bool named() {
      using m = message_of<Mailbox>;
      if constexpr (detail::is_varying<m>) {
        return false;  // these have routes
      } else {
        return requires(Self& self, const m& it) { self.process(mailbox_index<Mailbox>{}, it, 0); } ||
               (!requires(Self& self, const m& it) { self.process(mailbox_index<Mailbox>{}, it); } &&
                requires(Self& self, const m& it) { self.process(it, 0); });
      }
    }
    template <class M>
    [[gnu::always_inline]] static void process(detail::arrival& a, const M& m) {
      Self& self = static_cast<Self&>(a.part<selector>());
      using which = mailbox_index<Mailbox>;
      const int from = a.way.from;
      // Exactly what the mailbox carries first: a long must not go to process(int, int) because it has two parameters.
      using e = detail::exactly<M>;
      if constexpr (requires(e x) { self.process(which{}, x, from); }) {
        self.process(which{}, m, from);
      } else if constexpr (requires(e x) { self.process(which{}, x); }) {
        self.process(which{}, m);
      } else if constexpr (requires(e x) { self.process(x, from); }) {
        self.process(m, from);
      } else if constexpr (requires(e x) { self.process(x); }) {
        self.process(m);
      } else if constexpr (requires { self.process(which{}, m, from); }) {
        self.process(which{}, m, from);
      } else if constexpr (requires { self.process(which{}, m); }) {
        self.process(which{}, m);
      } else if constexpr (requires { self.process(m, from); }) {
        self.process(m, from);
      } else {
        static_assert(
            requires { self.process(m); },
            "the class needs a public process(message), process(message, int from) or "
            "process(pgas::mailbox_index<N>, message, int from) for each of its mailboxes");
        self.process(m);
      }
    }
    static constexpr bool varies = detail::is_varying<message_of<Mailbox>>;
    static constexpr wire::message_layout layout =
        varies ? wire::message_layout::varying_after<std::tuple<>>() : wire::message_layout::of<message_of<Mailbox>>();
    static inline const wire::handler entry{typeid(receiver),
                                            wire::type_name<Self>(),
                                            unload,
                                            Mailbox,
                                            varies ? std::uint8_t{wire::varying} : std::uint8_t{0},
                                            layout,
                                            wire::type_name<Self>()};
  };

  template <std::size_t Mailbox, class Message>
  struct asking_policy;
  template <std::size_t Mailbox, class Request, class Kept, class Reply>
  struct asking_policy<Mailbox, asking<Request, Kept, Reply>> {
    using ask = Request;
    using then = Kept;
    using result = Reply;
    static constexpr bool pure = requires(const Self& s, const Request& r) { s.process(r); } ||
                                 requires(const Self& s, const Request& r) { s.process(r, 0); };
    static constexpr std::uint8_t mailbox = Mailbox;
    static constexpr std::string_view name() { return wire::type_name<Self>(); }
    static constexpr std::string_view owner() { return wire::type_name<Self>(); }
    [[gnu::always_inline]] static Reply answer(detail::arrival& a, const Request& r) {
      Self& self = static_cast<Self&>(a.part<selector>());
      if constexpr (requires { self.process(r, int{a.way.from}); }) {
        return self.process(r, int{a.way.from});
      } else {
        return self.process(r);
      }
    }
    template <class... Result>
    [[gnu::always_inline]] static void done(detail::arrival& a, const Kept& kept, const Result&... reply) {
      Self& self = static_cast<Self&>(a.part<selector>());
      if constexpr (requires { self.replied(kept, reply..., int{a.way.from}); }) {
        self.replied(kept, reply..., int{a.way.from});
      } else {
        self.replied(kept, reply...);
      }
    }
  };

  template <std::size_t Mailbox>
  [[nodiscard]] detail::batch_key key() const noexcept {
    static_assert(Mailbox < mailboxes);
    return detail::key_of(receiver<Mailbox>::entry, receiver<Mailbox>::named() ? sender_bits_ : selector_bits_);
  }
  /// \return 0: the mailbox carries no M.
  template <class M, std::size_t Mailbox>
  [[nodiscard]] detail::batch_key key_for() const noexcept {
    if constexpr (std::is_same_v<M, message_of<Mailbox>>) {
      return key<Mailbox>();
    } else {
      return 0;
    }
  }
  template <class M, std::size_t... I>
  [[nodiscard]] detail::batch_key key_through(std::size_t mailbox, std::index_sequence<I...>) const noexcept {
    return ((mailbox == I ? key_for<M, I>() : detail::batch_key{0}) | ...);
  }

  pe* me_;
  detail::pe_worker* worker_;
  detail::selector_state* state_ = nullptr;
  detail::batch_key selector_bits_ = 0;  // of keys for mailboxes that do not ask for the sender
  detail::batch_key sender_bits_ = 0;    // and for those that do
  detail::batch_key asker_bits_ = 0;     // and for requests
  int pe_;
  std::array<bool, mailboxes> done_{};
  shunt::future<void> end_;  // of ending()
};

/// An actor: a selector with one mailbox.
template <class Self, message Message>
class actor : public selector<Self, Message> {
 public:
  using selector<Self, Message>::selector;
};

}  // namespace pgas
}  // namespace v1
}  // namespace shunt
