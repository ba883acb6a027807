/// What a message calls: a method that is named at compile time, and its arguments.
#pragma once

#include <concepts>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <shunt/actor/detail/dispatcher.hpp>
#include <shunt/actor/detail/envelope.hpp>
#include <shunt/actor/detail/timers.hpp>
#include <shunt/actor/mailbox.hpp>
#include <shunt/task/future.hpp>

namespace shunt {
inline namespace v1 {
namespace actor::detail {

template <typename M>
struct method_traits;  // of no method
template <typename R, typename C, typename... P>
struct method_traits<R (C::*)(P...)> {
  using owner = C;
  using result = std::remove_cvref_t<R>;
  template <template <typename...> class To>
  using parameters = To<P...>;
  using stored = values<std::remove_cvref_t<P>...>;
  static constexpr std::size_t count = sizeof...(P);
  /// Arguments are passed as values that registers hold.
  static constexpr bool in_registers =
      fits<stored> && (... && (!std::is_reference_v<P> && std::is_trivially_copyable_v<P> && sizeof(P) <= 16));
  /// No code of the program runs while they are copied or converted.
  template <typename... A>
  static constexpr bool plainly_from =
      std::is_trivially_copyable_v<stored> && (... && std::is_trivially_constructible_v<std::remove_cvref_t<P>, A&&>);
  /// A message's arguments are its own: a handler cannot hand anything back through them.
  static constexpr bool by_value =
      (... && (!std::is_lvalue_reference_v<P> || std::is_const_v<std::remove_reference_t<P>>));
  template <typename... A>
  static constexpr bool takes() {
    if constexpr (sizeof...(A) != sizeof...(P)) {
      return false;
    } else {
      return (... && std::is_convertible_v<A&&, std::remove_cvref_t<P>>);
    }
  }
  template <auto M, typename T, typename Stored>
  [[gnu::always_inline]] static decltype(auto) call(T& self, Stored& arguments) {
    C& of = self;  // apart: gcc warns of (self.*M)() where C is a base class of T
    return arguments.template give_to<P...>(
        [&](P&&... p) -> decltype(auto) { return (of.*M)(static_cast<P&&>(p)...); });
  }
};
template <typename R, typename C, typename... P>
struct method_traits<R (C::*)(P...) const> : method_traits<R (C::*)(P...)> {};
template <typename R, typename C, typename... P>
struct method_traits<R (C::*)(P...) noexcept> : method_traits<R (C::*)(P...)> {};
template <typename R, typename C, typename... P>
struct method_traits<R (C::*)(P...) const noexcept> : method_traits<R (C::*)(P...)> {};

/// What ask() returns for M.
template <auto M>
using answer_to = future<typename method_traits<decltype(M)>::result>;

/// "&counter::add"
template <auto M>
[[nodiscard]] constexpr std::string_view method_name() noexcept {
  constexpr std::string_view whole = __PRETTY_FUNCTION__;
  constexpr auto from = whole.find("M = ") + 4;
  return whole.substr(from, whole.find_first_of(";]", from) - from);
}

/// The content of a message while its handler runs; then the content ends.
template <typename Content>
class taken {
 public:
  explicit taken(envelope& e) noexcept : envelope_(e) {}
  ~taken() { kept_in<Content>(envelope_).~kept<Content>(); }
  taken(const taken&) = delete;
  taken& operator=(const taken&) = delete;
  [[nodiscard]] Content& content() const noexcept { return detail::content<Content>(kept_in<Content>(envelope_)); }

 private:
  envelope& envelope_;
};

/// A message of tell(): the arguments.
template <typename T, auto M>
struct tell_message {
  using traits = method_traits<decltype(M)>;
  using content = typename traits::stored;
  static constexpr const char* call = "tell";  // whose errors name it

  static void run(envelope& e, void* object) {
    T& self = e.part_of<T>(object);
    if constexpr (traits::in_registers) {  // then nothing is left to do when the handler has returned
      content arguments = kept_in<content>(e);
      static_cast<void>(traits::template call<M>(self, arguments));
    } else {
      const taken<content> here(e);
      static_cast<void>(traits::template call<M>(self, here.content()));
    }
  }
  static void drop(envelope& e, const dead_letter&) noexcept { kept_in<content>(e).~kept<content>(); }
  static constexpr message_ops ops{&run, mover<content>, &drop, method_name<M>(), bytes_of<content>};
};

/// A message of ask(): a promise for the answer, and the arguments.
template <typename T, auto M>
struct ask_message {
  using traits = method_traits<decltype(M)>;
  using result = typename traits::result;
  static constexpr const char* call = "ask";
  struct content {
    template <typename... A>
    explicit content(promise<result>&& p,
                     A&&... a) noexcept(std::is_nothrow_constructible_v<typename traits::stored, std::in_place_t, A...>)
        : answer(std::move(p)), arguments(std::in_place, std::forward<A>(a)...) {}
    promise<result> answer;
    typename traits::stored arguments;
  };

  static void run(envelope& e, void* object) {
    const taken<content> here(e);
    T& self = e.part_of<T>(object);
    auto& [answer, arguments] = here.content();
    try {
      if constexpr (std::is_void_v<result>) {
        traits::template call<M>(self, arguments);
        answer.set_value();
      } else {
        answer.set_value(traits::template call<M>(self, arguments));
      }
    } catch (...) {
      auto failure = std::current_exception();
      answered_failure told{text_of(failure)};
      // Set already if it was the result's own constructor that threw, inside set_value().
      if (!answer.get_future().ready()) answer.set_exception(std::move(failure));
      throw told;
    }
  }
  static void drop(envelope& e, const dead_letter& as) noexcept {
    auto& there = kept_in<content>(e);
    std::string text = "ask: " + std::string(as.method) + " was not called";
    if (!as.actor.empty()) text += " on actor `" + std::string(as.actor) + '`';
    detail::content<content>(there).answer.set_exception(
        std::make_exception_ptr(unanswered(error_number(517), text + ": " + std::string(as.why))));
    there.~kept<content>();
  }
  static constexpr message_ops ops{&run, mover<content>, &drop, method_name<M>(), bytes_of<content>};
};

/// A message of a timer: its arguments are copied each time.
template <typename T, auto M>
struct timer_message final : timed {
  using traits = method_traits<decltype(M)>;
  using content = std::shared_ptr<timed>;

  template <typename... A>
  timer_message(const address& to, A&&... a) : whom(to), arguments(std::in_place, std::forward<A>(a)...) {}

  void fire(const std::shared_ptr<timed>& self) override {
    if (under_way.exchange(true, std::memory_order_acquire)) return;  // acquire: edge `over` in
    whom.to->home->call_soon([self, to = whom] {
      envelope e;
      e.to = to.to;
      e.ops = &ops;
      e.target = to.target;
      ::new (static_cast<void*>(e.arguments)) content(self);
      to.to->home->send_exempt(e);
    });
  }
  static void run(envelope& e, void* object) {
    const content mine = std::move(kept_in<content>(e));
    kept_in<content>(e).~content();
    auto& me = static_cast<timer_message&>(*mine);
    auto copy = me.arguments;
    me.under_way.store(false, std::memory_order_release);      // release: edge `over` out
    if (me.cancelled.load(std::memory_order_relaxed)) return;  // relaxed: a cancel that races is late
    static_cast<void>(traits::template call<M>(e.part_of<T>(object), copy));
  }
  static void drop(envelope& e, const dead_letter&) noexcept {
    auto& mine = kept_in<content>(e);
    mine->cancelled.store(true, std::memory_order_relaxed);  // relaxed: as in run(); the actor has ended
    mine.~content();
  }
  static constexpr message_ops ops{&run, mover<content>, &drop, method_name<M>(), bytes_of<content>};

  address whom;
  typename traits::stored arguments;
};

}  // namespace actor::detail
}  // namespace v1
}  // namespace shunt
