/// The project's own stand-in for a library of senders and receivers, for tests where there is none: the names and
/// meanings of P2300R10 that <shunt/task/senders.hpp> and its tests use, and the checks that the concepts make. It is
/// neither complete nor fast, and has nothing of stdexec but the names.
///
/// With STAND_IN_TAGS the tags of the concepts have the spelling of versions after P2300R10.
#pragma once

#include <atomic>
#include <concepts>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <stop_token>
#include <system_error>
#include <tuple>
#include <type_traits>
#include <utility>

namespace stdexec {

// Tags.
#ifdef STAND_IN_TAGS
struct sender_tag {};
struct receiver_tag {};
struct operation_state_tag {};
struct scheduler_tag {};
namespace used {
using sender = sender_tag;
using receiver = receiver_tag;
using operation = operation_state_tag;
using scheduler = scheduler_tag;
}  // namespace used
#else
struct sender_t {};
struct receiver_t {};
struct operation_state_t {};
struct scheduler_t {};
namespace used {
using sender = sender_t;
using receiver = receiver_t;
using operation = operation_state_t;
using scheduler = scheduler_t;
}  // namespace used
#endif

// Stop tokens.
struct never_stop_token {
  template <typename F>
  struct callback_type {
    callback_type(never_stop_token, F&&) noexcept {}
  };
  static constexpr bool stop_requested() noexcept { return false; }
  static constexpr bool stop_possible() noexcept { return false; }
  friend bool operator==(never_stop_token, never_stop_token) noexcept { return true; }
};

template <typename F>
class inplace_stop_callback;
class inplace_stop_token {
 public:
  template <typename F>
  using callback_type = inplace_stop_callback<F>;
  inplace_stop_token() noexcept = default;
  explicit inplace_stop_token(std::stop_token of) noexcept : of_(std::move(of)) {}
  [[nodiscard]] bool stop_requested() const noexcept { return of_.stop_requested(); }
  [[nodiscard]] bool stop_possible() const noexcept { return of_.stop_possible(); }
  friend bool operator==(const inplace_stop_token&, const inplace_stop_token&) noexcept = default;

 private:
  template <typename F>
  friend class inplace_stop_callback;
  std::stop_token of_;
};
class inplace_stop_source {
 public:
  [[nodiscard]] inplace_stop_token get_token() const noexcept { return inplace_stop_token(of_.get_token()); }
  bool request_stop() noexcept { return of_.request_stop(); }
  [[nodiscard]] bool stop_requested() const noexcept { return of_.stop_requested(); }

 private:
  std::stop_source of_;
};
template <typename F>
class inplace_stop_callback {
 public:
  template <typename G>
  inplace_stop_callback(const inplace_stop_token& token, G&& f) : on_(token.of_, std::forward<G>(f)) {}

 private:
  std::stop_callback<F> on_;
};
template <typename Token, typename F>
using stop_callback_for_t = typename Token::template callback_type<F>;

// Environments and queries.
struct env {};
struct get_env_t {
  template <typename T>
  auto operator()(const T& of) const noexcept {
    if constexpr (requires { of.get_env(); }) {
      static_assert(noexcept(of.get_env()));
      return of.get_env();
    } else {
      return env();
    }
  }
};
inline constexpr get_env_t get_env{};
template <typename T>
using env_of_t = std::invoke_result_t<get_env_t, T>;

struct get_stop_token_t {
  template <typename Env>
  auto operator()(const Env& of) const noexcept {
    if constexpr (requires { of.query(*this); }) {
      return of.query(*this);
    } else {
      return never_stop_token();
    }
  }
};
inline constexpr get_stop_token_t get_stop_token{};
template <typename Env>
using stop_token_of_t = std::remove_cvref_t<std::invoke_result_t<get_stop_token_t, Env>>;

struct get_scheduler_t {
  template <typename Env>
  auto operator()(const Env& of) const noexcept -> decltype(of.query(*this)) {
    return of.query(*this);
  }
};
inline constexpr get_scheduler_t get_scheduler{};
template <typename Signal>
struct get_completion_scheduler_t {
  template <typename Env>
  auto operator()(const Env& of) const noexcept -> decltype(of.query(*this)) {
    static_assert(noexcept(of.query(*this)));
    return of.query(*this);
  }
};
template <typename Signal>
inline constexpr get_completion_scheduler_t<Signal> get_completion_scheduler{};

// The ends of an operation.
struct set_value_t {
  template <typename Receiver, typename... Values>
  void operator()(Receiver&& to, Values&&... values) const noexcept {
    static_assert(!std::is_lvalue_reference_v<Receiver> && !std::is_const_v<Receiver>);
    static_assert(noexcept(std::move(to).set_value(std::forward<Values>(values)...)));
    std::move(to).set_value(std::forward<Values>(values)...);
  }
};
struct set_error_t {
  template <typename Receiver, typename Error>
  void operator()(Receiver&& to, Error&& why) const noexcept {
    static_assert(!std::is_lvalue_reference_v<Receiver> && !std::is_const_v<Receiver>);
    static_assert(noexcept(std::move(to).set_error(std::forward<Error>(why))));
    std::move(to).set_error(std::forward<Error>(why));
  }
};
struct set_stopped_t {
  template <typename Receiver>
  void operator()(Receiver&& to) const noexcept {
    static_assert(!std::is_lvalue_reference_v<Receiver> && !std::is_const_v<Receiver>);
    static_assert(noexcept(std::move(to).set_stopped()));
    std::move(to).set_stopped();
  }
};
inline constexpr set_value_t set_value{};
inline constexpr set_error_t set_error{};
inline constexpr set_stopped_t set_stopped{};

template <typename... Signatures>
struct completion_signatures {};
template <typename Sender, typename... Env>
using completion_signatures_of_t = typename std::remove_cvref_t<Sender>::completion_signatures;

// Concepts.
template <typename T>
concept sender = std::derived_from<typename std::remove_cvref_t<T>::sender_concept, used::sender> &&
                 std::move_constructible<std::remove_cvref_t<T>> && std::constructible_from<std::remove_cvref_t<T>, T>;
template <typename T>
concept receiver = std::derived_from<typename std::remove_cvref_t<T>::receiver_concept, used::receiver> &&
                   std::is_nothrow_move_constructible_v<std::remove_cvref_t<T>>;
template <typename T>
concept operation_state =
    std::derived_from<typename T::operation_state_concept, used::operation> && std::is_object_v<T> && requires(T& op) {
      { op.start() } noexcept;
    };

struct connect_t {
  template <sender Sender, receiver Receiver>
  auto operator()(Sender&& from, Receiver&& to) const
      -> decltype(std::forward<Sender>(from).connect(std::forward<Receiver>(to))) {
    static_assert(operation_state<decltype(std::forward<Sender>(from).connect(std::forward<Receiver>(to)))>);
    return std::forward<Sender>(from).connect(std::forward<Receiver>(to));
  }
};
inline constexpr connect_t connect{};
template <typename Sender, typename Receiver>
using connect_result_t = std::invoke_result_t<connect_t, Sender, Receiver>;
struct start_t {
  template <operation_state Operation>
  void operator()(Operation& op) const noexcept {
    op.start();
  }
};
inline constexpr start_t start{};

struct schedule_t {
  template <typename Scheduler>
  auto operator()(Scheduler&& on) const -> decltype(std::forward<Scheduler>(on).schedule()) {
    static_assert(sender<decltype(std::forward<Scheduler>(on).schedule())>);
    return std::forward<Scheduler>(on).schedule();
  }
};
inline constexpr schedule_t schedule{};
template <typename T>
concept scheduler = std::derived_from<typename std::remove_cvref_t<T>::scheduler_concept, used::scheduler> &&
                    std::copy_constructible<std::remove_cvref_t<T>> &&
                    std::equality_comparable<std::remove_cvref_t<T>> && requires(T&& on) {
                      {
                        get_completion_scheduler<set_value_t>(get_env(schedule(std::forward<T>(on))))
                      } -> std::same_as<std::remove_cvref_t<T>>;
                    };

// A sender of values.
template <typename... Values>
struct just_sender {
  using sender_concept = used::sender;
  using completion_signatures = stdexec::completion_signatures<set_value_t(Values...)>;
  template <typename Receiver>
  struct operation {
    using operation_state_concept = used::operation;
    void start() & noexcept {
      std::apply([&](Values&... each) { stdexec::set_value(std::move(to), std::move(each)...); }, values);
    }
    std::tuple<Values...> values;
    Receiver to;
  };
  template <typename Receiver>
  operation<Receiver> connect(Receiver to) const {
    return {values, std::move(to)};
  }
  std::tuple<Values...> values;
};
template <typename... Values>
just_sender<std::decay_t<Values>...> just(Values&&... values) {
  return {{std::forward<Values>(values)...}};
}

// then(sender, f): the value is f's of the sender's.
namespace parts {

template <typename F, typename Signature>
struct after_then {
  using type = completion_signatures<Signature>;
};
template <typename F, typename... Values>
struct after_then<F, set_value_t(Values...)> {
  using result = std::invoke_result_t<F, Values...>;
  using type = std::conditional_t<std::is_void_v<result>, completion_signatures<set_value_t()>,
                                  completion_signatures<set_value_t(result)>>;
};
template <typename F>
struct after_then<F, set_error_t(std::exception_ptr)> {
  using type = completion_signatures<>;  // added once, for f's exceptions as well
};

template <typename... Lists>
struct joined;
template <typename... A>
struct joined<completion_signatures<A...>> {
  using type = completion_signatures<A...>;
};
template <typename... A, typename... B, typename... More>
struct joined<completion_signatures<A...>, completion_signatures<B...>, More...>
    : joined<completion_signatures<A..., B...>, More...> {};

template <typename F, typename Signatures>
struct all_after_then;
template <typename F, typename... Signatures>
struct all_after_then<F, completion_signatures<Signatures...>>
    : joined<typename after_then<F, Signatures>::type..., completion_signatures<set_error_t(std::exception_ptr)>> {};

template <typename F, typename Receiver>
struct then_receiver {
  using receiver_concept = used::receiver;
  template <typename... Values>
  void set_value(Values&&... values) noexcept {
    std::exception_ptr failure;
    try {
      if constexpr (std::is_void_v<std::invoke_result_t<F, Values...>>) {
        std::invoke(std::move(f), std::forward<Values>(values)...);
        return stdexec::set_value(std::move(to));
      } else {
        return stdexec::set_value(std::move(to), std::invoke(std::move(f), std::forward<Values>(values)...));
      }
    } catch (...) {
      failure = std::current_exception();
    }
    stdexec::set_error(std::move(to), std::move(failure));
  }
  template <typename Error>
  void set_error(Error&& why) noexcept {
    stdexec::set_error(std::move(to), std::forward<Error>(why));
  }
  void set_stopped() noexcept { stdexec::set_stopped(std::move(to)); }
  [[nodiscard]] auto get_env() const noexcept { return stdexec::get_env(to); }
  F f;
  Receiver to;
};

template <typename Sender, typename F>
struct then_sender {
  using sender_concept = used::sender;
  using completion_signatures = typename all_after_then<F, completion_signatures_of_t<Sender>>::type;
  template <typename Receiver>
  auto connect(Receiver to) && {
    return stdexec::connect(std::move(from), then_receiver<F, Receiver>{std::move(f), std::move(to)});
  }
  [[nodiscard]] auto get_env() const noexcept { return stdexec::get_env(from); }
  Sender from;
  F f;
};

// when_all(senders...): the values of all. Of the ends without a value the first counts, and asks the others to stop.
struct when_all_env {
  [[nodiscard]] inplace_stop_token query(get_stop_token_t) const noexcept { return token; }
  inplace_stop_token token;
};

template <typename Values, typename Shared, std::size_t I>
struct when_all_receiver {
  using receiver_concept = used::receiver;
  template <typename... Given>
  void set_value(Given&&... given) noexcept {
    std::get<I>(shared->values).emplace(std::forward<Given>(given)...);
    shared->ended();
  }
  void set_error(std::exception_ptr why) noexcept {
    shared->fail(std::move(why));
    shared->ended();
  }
  void set_stopped() noexcept {
    shared->fail(nullptr);
    shared->ended();
  }
  [[nodiscard]] when_all_env get_env() const noexcept { return {shared->stop.get_token()}; }
  Shared* shared;
};

template <typename Signatures>
struct values_of;
template <typename... Values, typename... More>
struct values_of<completion_signatures<set_value_t(Values...), More...>> {  // here set_value comes first
  using type = std::tuple<std::decay_t<Values>...>;
};

template <typename Receiver, typename... Values>
struct when_all_shared {
  explicit when_all_shared(Receiver&& receiver) : to(std::move(receiver)) {}
  void fail(std::exception_ptr why) noexcept {
    {
      const std::lock_guard held(lock);
      if (failed) return;
      failed = true;
      failure = std::move(why);
    }
    stop.request_stop();
  }
  void ended() noexcept {
    if (left.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    on_stop.reset();
    if (failure) return stdexec::set_error(std::move(to), std::move(failure));
    if (failed) return stdexec::set_stopped(std::move(to));
    auto all = std::apply([](auto&... each) { return std::tuple_cat(std::move(*each)...); }, values);
    std::apply([&](auto&... each) { stdexec::set_value(std::move(to), std::move(each)...); }, all);
  }
  struct ask {
    inplace_stop_source& source;
    void operator()() const noexcept { source.request_stop(); }
  };
  Receiver to;
  std::tuple<std::optional<Values>...> values;
  inplace_stop_source stop;
  std::optional<stop_callback_for_t<stop_token_of_t<env_of_t<Receiver>>, ask>> on_stop;
  std::mutex lock;
  bool failed = false;
  std::exception_ptr failure;
  std::atomic<std::size_t> left{sizeof...(Values) + 1};  // and start()
};

template <typename Joined>
struct when_all_values;
template <typename... Values>
struct when_all_values<std::tuple<Values...>> {
  using type = completion_signatures<set_value_t(Values...), set_error_t(std::exception_ptr), set_stopped_t()>;
};

template <typename Receiver, typename Indices, typename... Senders>
struct when_all_operation;
template <typename Receiver, std::size_t... I, typename... Senders>
struct when_all_operation<Receiver, std::index_sequence<I...>, Senders...> {
  using operation_state_concept = used::operation;
  using shared_type = when_all_shared<Receiver, typename values_of<completion_signatures_of_t<Senders>>::type...>;
  template <std::size_t J, typename Sender>
  struct part {
    using receiver_type =
        when_all_receiver<typename values_of<completion_signatures_of_t<Sender>>::type, shared_type, J>;
    part(Sender&& from, shared_type& shared) : op(stdexec::connect(std::move(from), receiver_type{&shared})) {}
    connect_result_t<Sender, receiver_type> op;
  };
  template <typename Indices, typename... Each>
  struct parts_of;
  template <std::size_t... J, typename... Each>
  struct parts_of<std::index_sequence<J...>, Each...> : part<J, Each>... {
    parts_of(shared_type& shared, Each&&... from) : part<J, Each>(std::move(from), shared)... {}
  };

  when_all_operation(Receiver&& to, Senders&&... from) : shared(std::move(to)), all(shared, std::move(from)...) {}
  void start() & noexcept {
    shared.on_stop.emplace(stdexec::get_stop_token(stdexec::get_env(shared.to)),
                           typename shared_type::ask{shared.stop});
    (stdexec::start(static_cast<part<I, Senders>&>(all).op), ...);
    shared.ended();
  }
  shared_type shared;
  parts_of<std::index_sequence<I...>, Senders...> all;
};

template <typename... Senders>
struct when_all_sender {
  using sender_concept = used::sender;
  using completion_signatures = typename when_all_values<decltype(std::tuple_cat(
      std::declval<typename values_of<completion_signatures_of_t<Senders>>::type>()...))>::type;
  template <typename Receiver>
  auto connect(Receiver to) && {
    return std::apply(
        [&](Senders&... each) {
          return when_all_operation<Receiver, std::index_sequence_for<Senders...>, Senders...>(std::move(to),
                                                                                               std::move(each)...);
        },
        from);
  }
  std::tuple<Senders...> from;
};

// sync_wait(sender), for threads.
template <typename Values>
struct thread_wait {
  void end() noexcept {
    const std::lock_guard held(lock);
    ended = true;
    changed.notify_one();
  }
  std::mutex lock;
  std::condition_variable changed;
  bool ended = false;
  std::optional<Values> values;
  std::exception_ptr failure;
};
template <typename Values>
struct thread_receiver {
  using receiver_concept = used::receiver;
  template <typename... Given>
  void set_value(Given&&... given) noexcept {
    of->values.emplace(std::forward<Given>(given)...);
    of->end();
  }
  void set_error(std::exception_ptr why) noexcept {
    of->failure = std::move(why);
    of->end();
  }
  void set_stopped() noexcept { of->end(); }
  thread_wait<Values>* of;
};

}  // namespace parts

// Objects, not functions: so a call without their namespace never finds them.
struct then_t {
  template <sender Sender, typename F>
  parts::then_sender<std::decay_t<Sender>, std::decay_t<F>> operator()(Sender&& from, F&& f) const {
    return {std::forward<Sender>(from), std::forward<F>(f)};
  }
};
inline constexpr then_t then{};

struct when_all_t {
  template <sender... Senders>
  parts::when_all_sender<std::decay_t<Senders>...> operator()(Senders&&... from) const {
    return {{std::forward<Senders>(from)...}};
  }
};
inline constexpr when_all_t when_all{};

struct sync_wait_t {
  template <sender Sender>
  auto operator()(Sender&& from) const {
    using values = typename parts::values_of<completion_signatures_of_t<Sender>>::type;
    parts::thread_wait<values> end;
    auto operation = stdexec::connect(std::forward<Sender>(from), parts::thread_receiver<values>{&end});
    stdexec::start(operation);
    std::unique_lock held(end.lock);
    end.changed.wait(held, [&] { return end.ended; });
    if (end.failure) std::rethrow_exception(end.failure);
    return std::move(end.values);
  }
};
inline constexpr sync_wait_t sync_wait{};

}  // namespace stdexec
