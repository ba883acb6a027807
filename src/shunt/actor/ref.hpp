/// References to actors: the way to call them.
///
/// ```cpp
/// struct counter { int add(int by) { return sum += by; } int sum = 0; };
/// co.tell<&counter::add>(3);                            // co: shunt::ref<counter>
/// shunt::future<int> sum = co.ask<&counter::add>(3);
/// ```
///
/// A message is a call that will be made: the method is named at compile time, the arguments travel by value. Errors
/// name the line of the call: a last parameter has it, which programs leave out. (Calls with more than four arguments
/// have no such parameter.)
/// Messages of one sender to one actor are handled in the order in which they were sent; a fiber that migrates is
/// several senders. An actor handles one message at a time: also while its handler waits.
///
/// A message to an actor of the sender's own worker is in its mailbox at once. A message to another worker travels in a
/// train with others. The train leaves at once if that worker sleeps. Else it leaves at the latest when the sender's
/// handler, or fiber, and each one that is ready on its worker, has ended or waits, or after 512 messages, fewer where
/// handlers are long.
#pragma once

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <source_location>
#include <type_traits>
#include <utility>

#include <shunt/actor/detail/method_call.hpp>
#include <shunt/actor/detail/mistakes.hpp>
#include <shunt/actor/detail/post.hpp>
#include <shunt/actor/mailbox.hpp>
#include <shunt/actor/timers.hpp>
#include <shunt/task/future.hpp>

namespace shunt {
inline namespace v1 {
namespace actor {

template <typename T>
class ref;
class manager;

/// M is a member function of T, or of a base of it.
template <auto M, typename T>
concept method_of_the_actor = requires { typename detail::method_traits<decltype(M)>::owner; } &&
                              std::derived_from<T, typename detail::method_traits<decltype(M)>::owner>;

/// M's parameters are values, references to const, or rvalue references: a message cannot change what belongs to the
/// sender.
template <auto M>
concept parameters_travel_by_value = detail::method_traits<decltype(M)>::by_value;

/// As many arguments as M has parameters, each convertible to its own.
template <auto M, typename... A>
concept arguments_fit_the_method = detail::method_traits<decltype(M)>::template takes<A...>();

/// A message that calls M on a T with arguments of the types A.
template <auto M, typename T, typename... A>
concept message_to = method_of_the_actor<M, T> && parameters_travel_by_value<M> && arguments_fit_the_method<M, A...>;

/// D is a T: publicly derived from it, not virtually.
template <typename D, typename T>
concept also_a = std::derived_from<D, T> && requires(T* t) { static_cast<D*>(t); };

/// An actor of class T, or of one derived from it. A value of two words, trivially copyable: an argument like others.
/// It counts nothing and keeps no actor alive. It tells actors apart that lived in the same place (until four thousand
/// million have), so a ref to an actor that has ended is safe to use: what is sent becomes a dead letter. (Counted
/// references would make each message that carries one dearer than the message itself, and never end two actors that
/// know each other.) Any thread, any fiber; until the manager ends.
template <typename T>
class ref {
 public:
  ref() noexcept = default;  ///< null: no actor
  /// The same actor, by an interface or base class of its type.
  template <also_a<T> D>
    requires(!std::same_as<D, T>)
  // NOLINTNEXTLINE: implicit, as the conversion of a pointer to a derived class is
  ref(const ref<D>& other) noexcept : address_(other.address_) {
    if (address_.to != nullptr) address_.move_by(distance<D>());
  }

  /// Whether it means an actor, which may have ended.
  [[nodiscard]] explicit operator bool() const noexcept { return address_.to != nullptr; }
  /// Whether both mean the same actor, or none.
  friend bool operator==(const ref& a, const ref& b) noexcept { return a.address_ == b.address_; }

  /// Any thread, any fiber. Calls M on the actor, later, with copies of the arguments, or what was moved in. What M
  /// returns is dropped. Waits only where the mailbox is full and its policy is to suspend, or 32 trains to other
  /// workers (with more than 16 workers two for each) are on their way, of up to 256 messages, with fewer where those
  /// are few: a fiber parks then, a thread blocks. To an actor that has ended: a dead letter.
  /// \throws mailbox_full; sched::deadlock if a handler would wait for room for ever, in a circle of actors; what
  ///         copying the arguments throws; what park() throws where waiting is impossible; usage_error for a null ref;
  ///         error if there is no memory for a train; std::bad_alloc.
  /// Cost: about 5 ns to an actor of the same worker, its handling included. Arguments of more than 40 bytes, aligned
  /// to more than 8, or that may throw when moved, are allocated. Moving an argument must neither wait nor send.
  template <auto M>
    requires message_to<M, T>
  [[gnu::always_inline]] void tell(std::source_location where = std::source_location::current()) const {
    send<M>(where);
  }
  /// The same, with one argument.
  template <auto M, typename A>
    requires message_to<M, T, A>
  [[gnu::always_inline]] void tell(A&& a, std::source_location where = std::source_location::current()) const {
    send<M>(where, std::forward<A>(a));
  }
  /// The same, with two arguments.
  template <auto M, typename A, typename B>
    requires message_to<M, T, A, B>
  [[gnu::always_inline]] void tell(A&& a, B&& b, std::source_location where = std::source_location::current()) const {
    send<M>(where, std::forward<A>(a), std::forward<B>(b));
  }
  /// The same, with three arguments.
  template <auto M, typename A, typename B, typename C>
    requires message_to<M, T, A, B, C>
  [[gnu::always_inline]] void tell(A&& a, B&& b, C&& c,
                                   std::source_location where = std::source_location::current()) const {
    send<M>(where, std::forward<A>(a), std::forward<B>(b), std::forward<C>(c));
  }
  /// The same, with four arguments.
  template <auto M, typename A, typename B, typename C, typename D>
    requires message_to<M, T, A, B, C, D>
  [[gnu::always_inline]] void tell(A&& a, B&& b, C&& c, D&& d,
                                   std::source_location where = std::source_location::current()) const {
    send<M>(where, std::forward<A>(a), std::forward<B>(b), std::forward<C>(c), std::forward<D>(d));
  }
  /// The same, with more; errors name no line.
  template <auto M, typename... A>
    requires(sizeof...(A) > 4 && message_to<M, T, A...>)
  [[gnu::always_inline]] void tell(A&&... arguments) const {
    send<M>(std::source_location(), std::forward<A>(arguments)...);
  }

  /// Chosen for what is no message: `Mistake` says why.
  template <auto M, typename... A, typename Mistake = detail::mistake_in_call<M, T, A...>>
    requires(!message_to<M, T, A...>)
  void tell(A&&...) const {
    static_assert(detail::none<Mistake>, "tell: the call does not fit the method: see `Mistake = ...`");
  }

  /// As tell(). \return what M will return, or the exception that leaves it; or `unanswered`: the actor has ended, or
  /// its mailbox dropped the message. A handler that waits for the answer waits for that actor: sched::deadlock if
  /// that actor, perhaps through others, waits for the handler's. A thread waits by manager::await().
  /// Cost: on one worker about 20 ns where many answers are waited for together, 30 to 50 ns where a fiber or a handler
  /// asks and waits one by one.
  template <auto M>
    requires message_to<M, T>
  [[nodiscard]] detail::answer_to<M> ask(std::source_location where = std::source_location::current()) const {
    return request<M>(where);
  }
  /// The same, with one argument.
  template <auto M, typename A>
    requires message_to<M, T, A>
  [[nodiscard]] detail::answer_to<M> ask(A&& a, std::source_location where = std::source_location::current()) const {
    return request<M>(where, std::forward<A>(a));
  }
  /// The same, with two arguments.
  template <auto M, typename A, typename B>
    requires message_to<M, T, A, B>
  [[nodiscard]] detail::answer_to<M> ask(A&& a, B&& b,
                                         std::source_location where = std::source_location::current()) const {
    return request<M>(where, std::forward<A>(a), std::forward<B>(b));
  }
  /// The same, with three arguments.
  template <auto M, typename A, typename B, typename C>
    requires message_to<M, T, A, B, C>
  [[nodiscard]] detail::answer_to<M> ask(A&& a, B&& b, C&& c,
                                         std::source_location where = std::source_location::current()) const {
    return request<M>(where, std::forward<A>(a), std::forward<B>(b), std::forward<C>(c));
  }
  /// The same, with four arguments.
  template <auto M, typename A, typename B, typename C, typename D>
    requires message_to<M, T, A, B, C, D>
  [[nodiscard]] detail::answer_to<M> ask(A&& a, B&& b, C&& c, D&& d,
                                         std::source_location where = std::source_location::current()) const {
    return request<M>(where, std::forward<A>(a), std::forward<B>(b), std::forward<C>(c), std::forward<D>(d));
  }
  /// The same, with more; errors name no line.
  template <auto M, typename... A>
    requires(sizeof...(A) > 4 && message_to<M, T, A...>)
  [[nodiscard]] detail::answer_to<M> ask(A&&... arguments) const {
    return request<M>(std::source_location(), std::forward<A>(arguments)...);
  }

  /// Chosen for calls that do not fit the method: an error that says what is wrong.
  template <auto M, typename... A, typename Mistake = detail::mistake_in_call<M, T, A...>>
    requires(!message_to<M, T, A...>)
  void ask(A&&...) const {
    static_assert(detail::none<Mistake>, "ask: the call does not fit the method: see `Mistake = ...`");
  }

  /// `r->method(...)`, through the proxy of T: proxy.hpp.
  [[nodiscard]] auto operator->() const noexcept;

  /// As tell(), but in `time`, and never waits: the message is exempt from the mailbox's bound. Arguments are copied.
  /// Cost: an allocation, and O(log n) in the timers that run.
  template <auto M, typename... A>
    requires message_to<M, T, A...>
  timer tell_after(const timer_duration& time, A&&... arguments) const {
    return begin<M>(time.call("tell_after"), std::chrono::nanoseconds::zero(), time, std::forward<A>(arguments)...);
  }
  /// Each `period`, first in one, until it is cancelled or the actor has ended. While one of its messages waits to be
  /// handled no other one comes. \param period  more than 0. \throws usage_error for another.
  template <auto M, typename... A>
    requires message_to<M, T, A...>
  timer tell_every(const timer_duration& period, A&&... arguments) const {
    const call_site call = period.call("tell_every");
    if (period.time() <= std::chrono::nanoseconds::zero()) detail::throw_no_period(call);
    return begin<M>(call, period.time(), period, std::forward<A>(arguments)...);
  }

  /// Calls M with a shunt::ended when `whom` ends, or at once if it has ended. Exempt from the mailbox's bound; comes
  /// once.
  template <auto M, typename U>
    requires method_of_the_actor<M, T> && arguments_fit_the_method<M, ended>
  void monitor(const ref<U>& whom, std::source_location where = std::source_location::current()) const {
    must_not_be_null({"monitor", where});
    whom.must_not_be_null({"monitor", where});
    auto tell = [to = address_](const ended& what) {
      to.to->home->call_soon([to, what] {
        using message = detail::tell_message<T, M>;
        detail::envelope e;
        detail::build<message>(e, to, std::in_place, what);
        e.to = to.to;
        to.to->home->send_exempt(e);
      });
    };
    whom.address_.to->home->call_soon([other = whom.address_, tell] {
      if (other.to->incarnation == other.incarnation() && other.to->about != nullptr) {
        other.to->about->monitors.push_back(tell);
      } else {
        tell({});
      }
    });
  }

 private:
  template <typename U>
  friend class ref;
  friend class manager;
  friend struct std::hash<ref<T>>;
  explicit ref(const detail::address& a) noexcept : address_(a) {}

  template <auto M, typename... A>
  [[gnu::always_inline]] void send(std::source_location where, A&&... arguments) const {
    using message = detail::tell_message<T, M>;
    detail::post_safely<message>(address_, where, std::in_place, std::forward<A>(arguments)...);
  }
  template <auto M, typename... A>
  [[nodiscard]] detail::answer_to<M> request(std::source_location where, A&&... arguments) const {
    using message = detail::ask_message<T, M>;
    must_not_be_null({"ask", where});
    promise<typename message::result> made;
    auto answer = made.get_future();
    task::detail::event_behind::of(answer, "ask").watched_by(*address_.to);
    detail::post_safely<message>(address_, where, std::move(made), std::forward<A>(arguments)...);
    return answer;
  }

  void must_not_be_null(call_site call) const {
    if (address_.to == nullptr) [[unlikely]]
      detail::throw_null_ref(call);
  }

  /// From a D to the T in it. No object is touched: the conversion of a pointer to a non-virtual base is arithmetic.
  template <typename D>
  [[nodiscard]] static std::int32_t distance() noexcept {
    alignas(D) static std::byte room[sizeof(D)];
    auto* const whole = reinterpret_cast<D*>(room);
    return static_cast<std::int32_t>(reinterpret_cast<std::byte*>(static_cast<T*>(whole)) - room);
  }

  template <auto M, typename... A>
  timer begin(call_site call, std::chrono::nanoseconds period, const timer_duration& first, A&&... arguments) const {
    must_not_be_null(call);
    auto made = std::make_shared<detail::timer_message<T, M>>(address_, std::forward<A>(arguments)...);
    made->period = period;
    address_.to->home->system().clock().schedule(made, sched::after(first.time()));
    return timer(std::move(made));
  }

  detail::address address_;
};

namespace this_actor {
/// A handler only: its actor ends when it returns. \throws usage_error elsewhere.
void stop(std::source_location where = std::source_location::current());
}  // namespace this_actor

}  // namespace actor

using actor::ref;
namespace this_actor = actor::this_actor;

}  // namespace v1
}  // namespace shunt

/// Refs as keys of unordered containers.
template <typename T>
struct std::hash<shunt::actor::ref<T>> {
  /// The same for refs that are equal.
  [[nodiscard]] std::size_t operator()(const shunt::actor::ref<T>& r) const noexcept {
    return std::hash<const void*>()(r.address_.to) ^ (std::size_t{r.address_.incarnation()} << 32);
  }
};
