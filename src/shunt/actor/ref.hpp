/// References to actors: the way to call them.
///
/// ```cpp
/// struct counter { int add(int by) { return sum += by; } int sum = 0; };
/// co.tell<&counter::add>(3);                            // co: shunt::ref<counter>
/// shunt::future<int> sum = co.ask<&counter::add>(3);
/// ```
///
/// A message is a call that will be made: the method is named at compile time, the arguments travel by value.
/// Messages of one sender to one actor are handled in the order in which they were sent (a fiber that migrates is
/// several senders). An actor handles one message at a time: also while its handler waits.
///
/// A message to an actor of the sender's own worker is in its mailbox at once. One to another worker travels in a
/// train with others: at the latest it leaves when its sender's handler, or fiber, has ended or waits, and so has
/// each that is ready there, or after 512 messages; at once, if that worker sleeps.
#pragma once

#include <chrono>
#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>

#include <shunt/actor/detail/hall.hpp>
#include <shunt/actor/detail/station.hpp>
#include <shunt/actor/mailbox.hpp>
#include <shunt/task/future.hpp>

namespace shunt {
inline namespace v1 {

template <typename T>
class ref;
class manager;

namespace detail::typed {

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
  /// Nobody's code runs while they are copied or converted.
  template <typename... A>
  static constexpr bool plainly_from =
      std::is_trivially_copyable_v<stored> && (... && std::is_trivially_constructible_v<std::remove_cvref_t<P>, A&&>);
  /// A message's arguments are nobody else's: a handler cannot hand anything back through them.
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

/// "&counter::add"
template <auto M>
[[nodiscard]] constexpr std::string_view method_name() noexcept {
  constexpr std::string_view whole = __PRETTY_FUNCTION__;
  constexpr auto from = whole.find("M = ") + 4;
  return whole.substr(from, whole.find_first_of(";]", from) - from);
}

}  // namespace detail::typed

/// M is a member function of T, or of a base of it.
template <auto M, typename T>
concept method_of_the_actor = requires { typename detail::typed::method_traits<decltype(M)>::owner; } &&
                              std::derived_from<T, typename detail::typed::method_traits<decltype(M)>::owner>;

/// M's parameters are values, references to const, or rvalue references: a message has nothing of the sender's to
/// change.
template <auto M>
concept parameters_travel_by_value = detail::typed::method_traits<decltype(M)>::by_value;

/// As many arguments as M has parameters, each convertible to its own.
template <auto M, typename... A>
concept arguments_fit_the_method = detail::typed::method_traits<decltype(M)>::template takes<A...>();

/// D is a T: publicly derived from it, not virtually.
template <typename D, typename T>
concept also_a = std::derived_from<D, T> && requires(T* t) { static_cast<D*>(t); };

namespace detail::typed {

/// What a message carries, while its handler runs; then it ends.
template <typename Content>
class taken {
 public:
  explicit taken(slot& s) noexcept : slot_(s) {}
  ~taken() { kept_in<Content>(slot_).~kept<Content>(); }
  taken(const taken&) = delete;
  taken& operator=(const taken&) = delete;
  [[nodiscard]] Content& content() const noexcept { return typed::content<Content>(kept_in<Content>(slot_)); }

 private:
  slot& slot_;
};

template <typename T, auto M>
struct tell_letter {
  using traits = method_traits<decltype(M)>;
  using content = typename traits::stored;

  static void run(slot& s, void* object) {
    T& self = s.part_of<T>(object);
    if constexpr (traits::in_registers) {  // then nothing is left to do when the handler has returned
      content arguments = kept_in<content>(s);
      static_cast<void>(traits::template call<M>(self, arguments));
    } else {
      const taken<content> here(s);
      static_cast<void>(traits::template call<M>(self, here.content()));
    }
  }
  static void drop(slot& s, const dead_letter&) noexcept { kept_in<content>(s).~kept<content>(); }
  static constexpr kind what{&run, mover<content>, &drop, method_name<M>(), bytes_of<content>};
};

template <typename T, auto M>
struct ask_letter {
  using traits = method_traits<decltype(M)>;
  using result = typename traits::result;
  struct content {
    template <typename... A>
    explicit content(promise<result>&& p,
                     A&&... a) noexcept(std::is_nothrow_constructible_v<typename traits::stored, std::in_place_t, A...>)
        : answer(std::move(p)), arguments(std::in_place, std::forward<A>(a)...) {}
    promise<result> answer;
    typename traits::stored arguments;
  };

  static void run(slot& s, void* object) {
    const taken<content> here(s);
    T& self = s.part_of<T>(object);
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
  static void drop(slot& s, const dead_letter& as) noexcept {
    auto& there = kept_in<content>(s);
    std::string text = "ask: " + std::string(as.method) + " was not called";
    if (!as.actor.empty()) text += " on actor `" + std::string(as.actor) + '`';
    typed::content<content>(there).answer.set_exception(
        std::make_exception_ptr(unanswered(text + ": " + std::string(as.why))));
    there.~kept<content>();
  }
  static constexpr kind what{&run, mover<content>, &drop, method_name<M>(), bytes_of<content>};
};

/// A message of a timer: its arguments are copied each time.
template <typename T, auto M>
struct timed_letter final : timed {
  using traits = method_traits<decltype(M)>;
  using content = std::shared_ptr<timed>;

  template <typename... A>
  timed_letter(const address& to, A&&... a) : whom(to), arguments(std::in_place, std::forward<A>(a)...) {}

  void fire(const std::shared_ptr<timed>& self) override {
    if (under_way.exchange(true, std::memory_order_acquire)) return;  // pairs with the stores below
    whom.to->home->at_home([self, to = whom] {
      slot s;
      s.to = to.to;
      s.what = &what;
      s.which = to.which;
      ::new (static_cast<void*>(s.room_)) content(self);
      to.to->home->place_exempt(s);
    });
  }
  static void run(slot& s, void* object) {
    const content mine = std::move(kept_in<content>(s));
    kept_in<content>(s).~content();
    auto& me = static_cast<timed_letter&>(*mine);
    auto copy = me.arguments;
    me.under_way.store(false, std::memory_order_release);      // pairs with fire()
    if (me.cancelled.load(std::memory_order_relaxed)) return;  // relaxed: a cancel that races is late
    static_cast<void>(traits::template call<M>(s.part_of<T>(object), copy));
  }
  static void drop(slot& s, const dead_letter&) noexcept {
    auto& mine = kept_in<content>(s);
    mine->cancelled.store(true, std::memory_order_relaxed);  // nobody is there any more
    mine.~content();
  }
  static constexpr kind what{&run, mover<content>, &drop, method_name<M>(), bytes_of<content>};

  address whom;
  typename traits::stored arguments;
};

/// A Letter whose content has been made already.
template <typename Letter>
struct rebuilt {
  using content = kept<typename Letter::content>;
  static constexpr const kind& what = Letter::what;
};

[[noreturn]] void throw_nobody(const char* call);

template <typename Content, typename... A>
[[nodiscard]] kept<Content> make_kept(A&&... a) {
  if constexpr (fits<Content>) {
    return Content(std::forward<A>(a)...);
  } else {
    return std::make_unique<Content>(std::forward<A>(a)...);
  }
}

template <typename Letter, typename... A>
[[gnu::always_inline]] inline void build_arguments(std::byte* place, A&&... a) {
  using content = typename Letter::content;
  ::new (static_cast<void*>(place)) kept<content>(make_kept<content>(std::forward<A>(a)...));
}

/// In a slot that is the caller's until it is sent, or in its mailbox: see plain.
template <typename Letter, typename... A>
[[gnu::always_inline]] inline void build(slot& s, const address& to, A&&... a) {
  s.what = &Letter::what;
  s.which = to.which;
  build_arguments<Letter>(s.room_, std::forward<A>(a)...);
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

/// Whether the message can be built in its mailbox, or carriage: nobody's code runs meanwhile, so nobody looks there.
template <typename Letter, typename In, typename... A>
inline constexpr bool plain = false;
template <typename T, auto M, typename In, typename... A>
inline constexpr bool plain<tell_letter<T, M>, In, A...> =
    fits<typename tell_letter<T, M>::content> && method_traits<decltype(M)>::template plainly_from<A...>;
template <typename T, auto M, typename In, typename... A>
inline constexpr bool plain<ask_letter<T, M>, In, A...> =
    fits<typename ask_letter<T, M>::content> && method_traits<decltype(M)>::template plainly_from<A...>;

/// The longer way: a mailbox without vacant slots, another worker, another thread, nobody there, or a chooser decides.
template <typename Letter, typename... A>
[[gnu::noinline]] void post_slowly(address to, const char* call, A... a) {
  sched::this_fiber::interleave();
  if (to.to == nullptr) throw_nobody(call);
  if constexpr (plain<Letter, A...>) {
    if (station* const at = station::quick(); at == to.to->home) {
      if (slot* const s = at->place_slowly(*to.to, to.life())) return build<Letter>(*s, to, std::forward<A>(a)...);
    } else if (at != nullptr) {
      if (std::byte* const place = at->place_far(*to.to, to.which, Letter::what)) {
        build_arguments<Letter>(place, std::forward<A>(a)...);
        return at->depart_far(*to.to, Letter::what.bytes);
      }
    }
  }
  slot s;
  build<Letter>(s, to, std::forward<A>(a)...);
  s.to = to.to;
  station::send(s, call);
}

/// Builds a message and sends it. `a` must not throw when it is copied: that would be amid the work.
template <typename Letter, typename... A>
[[gnu::always_inline]] inline void post(const address& to, const char* call, A&&... a) {
  if (to.to != nullptr) [[likely]] {
    station* const at = station::quick();
    if (at == to.to->home) [[likely]] {
      if constexpr (plain<Letter, A...>) {
        if (to.to->life == to.life()) [[likely]] {
          if (slot* const s = to.to->place()) return build<Letter>(*s, to, std::forward<A>(a)...);
          if (to.to->is == state::idle) {
            if (slot* const s = at->spare()) [[likely]] {
              build<Letter>(*s, to, std::forward<A>(a)...);
              return at->tell_idle(*to.to, s);
            }
          }
        }
      } else if (slot* const s = at->spare()) {
        build<Letter>(*s, to, std::forward<A>(a)...);
        return at->tell(*to.to, s, call);
      }
    }
  }
  post_slowly<Letter, passed<A>...>(to, call, std::forward<A>(a)...);
}

/// The same for any `a`: what may throw is done before. (What cannot is not: to build a message twice, and read at
/// once what was just written in other pieces, would cost more than all the rest.)
template <typename Letter, typename... A>
[[gnu::always_inline]] inline void post_safely(const address& to, const char* call, A&&... a) {
  using content = typename Letter::content;
  if constexpr (fits<content> && std::is_nothrow_constructible_v<content, A...>) {
    post<Letter>(to, call, std::forward<A>(a)...);
  } else {
    post<rebuilt<Letter>>(to, call, make_kept<content>(std::forward<A>(a)...));
  }
}

}  // namespace detail::typed

/// A message to come. A handle; dropping it changes nothing.
class timer {
 public:
  timer() noexcept = default;
  /// Any thread. No handler that has not begun will be called. Nothing if there is none.
  void cancel() noexcept {
    if (what_ != nullptr) what_->cancelled.store(true, std::memory_order_relaxed);  // relaxed: one that races is late
  }

 private:
  template <typename T>
  friend class ref;
  explicit timer(std::shared_ptr<detail::typed::timed> t) noexcept : what_(std::move(t)) {}
  std::shared_ptr<detail::typed::timed> what_;
};

/// An actor of class T, or of one derived from it. A value of two words, trivially copyable: an argument like others.
/// It counts nothing and keeps nobody alive; it tells actors apart that lived in the same place (until four thousand
/// million have), so one to an actor that has ended is safe to use: what is sent becomes a dead letter. (Counted
/// references would make each message that carries one dearer than the message itself, and never end two actors that
/// know each other.) Any thread, any fiber; until the manager ends.
template <typename T>
class ref {
 public:
  ref() noexcept = default;  ///< nobody
  template <also_a<T> D>
    requires(!std::same_as<D, T>)
  ref(const ref<D>& other) noexcept : who_(other.who_) {  // NOLINT: implicit, as a pointer to a derived class is
    if (who_.to != nullptr) who_.move_by(distance<D>());
  }

  [[nodiscard]] explicit operator bool() const noexcept { return who_.to != nullptr; }
  friend bool operator==(const ref& a, const ref& b) noexcept { return a.who_ == b.who_; }

  /// Any thread, any fiber. Calls M on the actor, later, with copies of the arguments, or what was moved in. What M
  /// returns is dropped. Waits only where the mailbox is full and its policy is to suspend, or 32 trains to other
  /// workers (with more than 16 workers two for each) are on their way, of up to 256 messages, with fewer where those
  /// are few: a fiber parks then, a thread blocks. To an actor that has ended: a dead letter.
  /// \throws mailbox_full; sched::deadlock if a handler would wait for room for ever, in a circle of actors; what
  ///         copying the arguments throws; what park() throws where waiting is impossible; usage_error for nobody;
  ///         std::bad_alloc.
  /// Cost: about 5 ns to an actor of the same worker, its handling included. Arguments of more than 40 bytes, aligned
  /// to more than 8, or that may throw when moved, are allocated. Moving an argument must neither wait nor send.
  template <auto M, typename... A>
    requires method_of_the_actor<M, T> && parameters_travel_by_value<M> && arguments_fit_the_method<M, A...>
  [[gnu::always_inline]] void tell(A&&... arguments) const {
    using letter = detail::typed::tell_letter<T, M>;
    detail::typed::post_safely<letter>(who_, "tell", std::in_place, std::forward<A>(arguments)...);
  }

  /// As tell(). \return what M will return, or the exception that leaves it; or `unanswered`: the actor has ended, or
  /// its mailbox dropped the message. A handler that waits for it waits for that actor: sched::deadlock if that one,
  /// perhaps through others, waits for this one. A thread waits by manager::await().
  /// Cost: on one worker about 20 ns where many answers are waited for together, 40 to 60 where a fiber or a handler
  /// asks and waits one by one.
  template <auto M, typename... A>
    requires method_of_the_actor<M, T> && parameters_travel_by_value<M> && arguments_fit_the_method<M, A...>
  [[nodiscard]] future<typename detail::typed::method_traits<decltype(M)>::result> ask(A&&... arguments) const {
    using letter = detail::typed::ask_letter<T, M>;
    must_be("ask");
    promise<typename letter::result> made;
    auto answer = made.get_future();
    task::detail::event_behind::of(answer, "ask").watched_by(*who_.to);
    detail::typed::post_safely<letter>(who_, "ask", std::move(made), std::forward<A>(arguments)...);
    return answer;
  }

  /// As tell(), but in `time`, and never waits: the message is exempt from the mailbox's bound. Arguments are copied.
  /// Cost: an allocation, and O(log n) in the timers that run.
  template <auto M, typename... A>
    requires method_of_the_actor<M, T> && parameters_travel_by_value<M> && arguments_fit_the_method<M, A...>
  timer tell_after(std::chrono::nanoseconds time, A&&... arguments) const {
    return begin<M>("tell_after", std::chrono::nanoseconds::zero(), time, std::forward<A>(arguments)...);
  }
  /// Each `period`, first in one, until it is cancelled or the actor has ended. While one of its messages waits to be
  /// handled no other one comes. \param period  more than 0. \throws usage_error for another.
  template <auto M, typename... A>
    requires method_of_the_actor<M, T> && parameters_travel_by_value<M> && arguments_fit_the_method<M, A...>
  timer tell_every(std::chrono::nanoseconds period, A&&... arguments) const {
    if (period <= period.zero()) throw usage_error("tell_every: a period must be more than 0");
    return begin<M>("tell_every", period, period, std::forward<A>(arguments)...);
  }

  /// Calls M with a shunt::ended when `whom` ends, or at once if it has ended. Exempt from the mailbox's bound; comes
  /// once.
  template <auto M, typename U>
    requires method_of_the_actor<M, T> && arguments_fit_the_method<M, ended>
  void monitor(const ref<U>& whom) const {
    must_be("monitor");
    whom.must_be("monitor");
    auto tell = [to = who_](const ended& what) {
      to.to->home->at_home([to, what] {
        using letter = detail::typed::tell_letter<T, M>;
        detail::typed::slot s;
        detail::typed::build<letter>(s, to, std::in_place, what);
        s.to = to.to;
        to.to->home->place_exempt(s);
      });
    };
    whom.who_.to->home->at_home([other = whom.who_, tell] {
      if (other.to->life == other.life() && other.to->about != nullptr) {
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
  explicit ref(const detail::typed::address& who) noexcept : who_(who) {}

  void must_be(const char* call) const {
    if (who_.to == nullptr) [[unlikely]]
      detail::typed::throw_nobody(call);
  }

  /// From a D to the T in it. No object is touched: the conversion of a pointer to a non-virtual base is arithmetic.
  template <typename D>
  [[nodiscard]] static std::int32_t distance() noexcept {
    alignas(D) static std::byte room[sizeof(D)];
    auto* const whole = reinterpret_cast<D*>(room);
    return static_cast<std::int32_t>(reinterpret_cast<std::byte*>(static_cast<T*>(whole)) - room);
  }

  template <auto M, typename... A>
  timer begin(const char* call, std::chrono::nanoseconds period, std::chrono::nanoseconds first,
              A&&... arguments) const {
    must_be(call);
    auto made = std::make_shared<detail::typed::timed_letter<T, M>>(who_, std::forward<A>(arguments)...);
    made->period = period;
    who_.to->home->all().schedule(made, sched::after(first));
    return timer(std::move(made));
  }

  detail::typed::address who_;
};

namespace this_actor {
/// A handler only: its actor ends when it returns. \throws usage_error elsewhere.
void stop();
}  // namespace this_actor

}  // namespace v1
}  // namespace shunt

template <typename T>
struct std::hash<shunt::ref<T>> {
  [[nodiscard]] std::size_t operator()(const shunt::ref<T>& r) const noexcept {
    return std::hash<const void*>()(r.who_.to) ^ (std::size_t{r.who_.life()} << 32);
  }
};
