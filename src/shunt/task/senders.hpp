/// Senders and receivers: a scheduler over the fibers of a runtime, senders of what fibers wait for, and a wait for
/// any sender.
///
/// ```cpp
/// shunt::sched::runtime workers;
/// workers.run([&] {
///   const shunt::task::fiber_scheduler pool;                       // of the runtime that this fiber runs in
///   auto both = stdexec::when_all(
///       shunt::task::as_sender(pool, [] { return word_count("a"); }),   // in a new fiber, which may wait
///       stdexec::then(stdexec::schedule(pool), [] { return 2; }));
///   const auto [words, two] = *shunt::task::sync_wait(std::move(both)); // parks this fiber, not its worker
/// });
/// ```
///
/// set_value comes in a fiber of the runtime, mostly a new one, and never inside start(). So what follows a sender, by
/// `then` say, may use all that fibers may: channels, futures, transactions, sockets, other waits. As its fiber keeps a
/// worker until it waits or yields, the promise of progress is `weakly_parallel`. Inside start() an operation ends only
/// if it has been asked to stop already, or if there is no memory for its fiber, or no future to wait for.
///
/// A stop request reaches the operations from two sides: the receiver's stop token (get_stop_token of its environment),
/// and sched::runtime::request_stop(). Either ends them with set_stopped, as far as each sender says. Errors are
/// std::exception_ptr: what a function threw; if a fiber gets no stack or no memory, why.
///
/// Lifetime: an operation is started by a fiber of the runtime, or by a thread that knows that run() does not return
/// before the operation ends; or before run(), which then runs it. If the runtime is destroyed instead, the operation
/// ends with set_stopped, on the destroying thread. An operation that has been started lives until it ends.
///
/// Not part of <shunt/task.hpp>. Takes its names from <stdexec/execution.hpp>, or from a standard library that has them
/// (__cpp_lib_senders); empty where neither is there: SHUNT_SENDERS is 1 or 0. It follows P2300R10. Tested against the
/// project's own stand-in for these names, tests/execution, and not against stdexec itself.
///
/// Source: Dominiak et al., P2300R10, `std::execution`, 2024.
#pragma once

#include <shunt/task/detail/execution_names.hpp>
#include <shunt/task/detail/sender_operations.hpp>

#if SHUNT_SENDERS

#include <concepts>
#include <cstddef>
#include <exception>
#include <optional>
#include <source_location>
#include <stop_token>
#include <system_error>
#include <tuple>
#include <type_traits>
#include <utility>

#include <shunt/base/call_site.hpp>
#include <shunt/sched.hpp>
#include <shunt/sched/waiter.hpp>
#include <shunt/task/coroutine.hpp>
#include <shunt/task/future.hpp>

namespace shunt {
inline namespace v1 {
namespace task {

class fiber_scheduler;

namespace detail {

/// What senders and receivers of a runtime say of themselves.
class fiber_environment {
 public:
  explicit fiber_environment(sched::runtime& on) noexcept : on_(&on) {}
  /// Where set_value is called. Later versions of the query pass an environment along.
  template <typename... More>
  [[nodiscard]] fiber_scheduler query(execution::get_completion_scheduler_t<execution::set_value_t>,
                                      const More&...) const noexcept;
  /// Of a receiver: where a sender may run what belongs to it.
  [[nodiscard]] fiber_scheduler query(execution::get_scheduler_t) const noexcept;

 private:
  sched::runtime* on_;
};

template <typename T>
struct value_signature {
  using type = execution::set_value_t(T);
};
template <>
struct value_signature<void> {
  using type = execution::set_value_t();
};

/// What all senders here say: how they end, and where. \tparam T  the value; void: none.
template <typename T>
class sender_base {
 public:
  using sender_concept = execution::sender;
  using completion_signatures =
      execution::completion_signatures<typename value_signature<T>::type, execution::set_error_t(std::exception_ptr),
                                       execution::set_stopped_t()>;
  /// As later versions ask it.
  template <typename, typename...>
  [[nodiscard]] static consteval completion_signatures get_completion_signatures() noexcept {
    return {};
  }
  [[nodiscard]] fiber_environment get_env() const noexcept { return fiber_environment(*on_); }

 protected:
  explicit sender_base(sched::runtime& on) noexcept : on_(&on) {}
  sched::runtime* on_;
};

class schedule_sender : public sender_base<void> {
 public:
  explicit schedule_sender(sched::runtime& on) noexcept : sender_base(on) {}
  template <typename Receiver>
  [[nodiscard]] schedule_operation<Receiver> connect(Receiver receiver) const {
    return {*on_, std::move(receiver)};
  }
};

template <typename F>
class function_sender : public sender_base<std::decay_t<typename result_of_work<F>::type>> {
 public:
  template <typename G>
  function_sender(sched::runtime& on, G&& work)
      : sender_base<std::decay_t<typename result_of_work<F>::type>>(on), work_(std::forward<G>(work)) {}
  template <typename Receiver>
  [[nodiscard]] function_operation<F, Receiver> connect(Receiver receiver) && {
    return {*this->on_, std::move(work_), std::move(receiver)};
  }
  template <typename Receiver>
    requires std::copy_constructible<F>
  [[nodiscard]] function_operation<F, Receiver> connect(Receiver receiver) const& {
    return {*this->on_, work_, std::move(receiver)};
  }

 private:
  F work_;
};

template <typename T>
class future_sender
    : public sender_base<std::conditional_t<std::is_void_v<T>, void, std::add_lvalue_reference_t<const T>>> {
 public:
  future_sender(sched::runtime& on, future<T> awaited)
      : sender_base<std::conditional_t<std::is_void_v<T>, void, std::add_lvalue_reference_t<const T>>>(on),
        future_(std::move(awaited)) {}
  template <typename Receiver>
  [[nodiscard]] future_operation<T, Receiver> connect(Receiver receiver) const {
    return {*this->on_, future_, std::move(receiver)};
  }

 private:
  future<T> future_;
};

template <typename T>
class coroutine_sender : public sender_base<T> {
 public:
  coroutine_sender(sched::runtime& on, coroutine_task<T>&& body) : sender_base<T>(on), body_(std::move(body)) {}
  template <typename Receiver>
  [[nodiscard]] coroutine_operation<T, Receiver> connect(Receiver receiver) && {
    return {*this->on_, std::move(body_), std::move(receiver)};
  }

 private:
  coroutine_task<T> body_;
};

}  // namespace detail

/// A scheduler of senders: a handle of a runtime, which outlives it. Its senders end in fibers of that runtime.
class fiber_scheduler {
 public:
  /// That this is a scheduler.
  using scheduler_concept = detail::execution::scheduler;

  /// Of the runtime that the calling fiber runs in. \throws usage_error on a thread that is no worker.
  explicit fiber_scheduler(std::source_location where = std::source_location::current())
      : fiber_scheduler(sched::this_worker::current({"fiber_scheduler", where})) {}
  /// Of that one.
  explicit fiber_scheduler(sched::runtime& of) noexcept : of_(&of) {}

  /// \return a sender that ends with set_value() in a new fiber; with set_stopped() if a stop was requested before
  /// that fiber runs; with set_error(std::exception_ptr) if that fiber gets no memory, or no stack.
  /// Cost of its operation: a spawn and two small allocations.
  [[nodiscard]] detail::schedule_sender schedule() const noexcept { return detail::schedule_sender(*of_); }

  /// The runtime.
  [[nodiscard]] sched::runtime& runtime() const noexcept { return *of_; }

  /// Whether both are of the same runtime.
  friend bool operator==(const fiber_scheduler&, const fiber_scheduler&) noexcept = default;

 private:
  sched::runtime* of_;
};

namespace detail {

template <typename... More>
fiber_scheduler fiber_environment::query(execution::get_completion_scheduler_t<execution::set_value_t>,
                                         const More&...) const noexcept {
  return fiber_scheduler(*on_);
}
inline fiber_scheduler fiber_environment::query(execution::get_scheduler_t) const noexcept {
  return fiber_scheduler(*on_);
}

}  // namespace detail

/// \return a sender that calls `work` in a new fiber of `on`, waits for the tasks that it made by async(), and ends
/// with set_value(result), or set_value() if there is none. `work` may wait: for a channel, a socket, an actor, a
/// transaction.
///
/// If `work` takes a std::stop_token, that is asked to stop when the receiver's or the run's is. Then `work` passes it
/// to its waits, and says by its result that the stop has ended one: by false, an empty std::optional, or an enumerator
/// named `stopped`, as the waits themselves do. The sender ends with set_stopped() then, and if a stop was requested
/// before `work` began.
///
/// ```cpp
/// auto until = shunt::task::as_sender(pool, [&](std::stop_token stop) { return ready.wait(stop); });
/// ```
///
/// Errors: what `work` throws; that its fiber gets no memory, or no stack.
/// Cost of its operation: as schedule()'s; with a stop token one more allocation.
template <typename F>
  requires std::invocable<std::decay_t<F>&> || std::invocable<std::decay_t<F>&, std::stop_token>
[[nodiscard]] detail::function_sender<std::decay_t<F>> as_sender(fiber_scheduler on, F&& work) {
  return {on.runtime(), std::forward<F>(work)};
}

/// \return a sender that waits for `awaited` without a fiber, and ends in a new one with set_value(result), a const
/// reference that is good until the receiver returns; or set_value() if there is none. Any number of operations may
/// wait for one future. For all that gives a future: async_value(), an actor's ask(), when_any().
///
/// A stop request ends the wait with set_stopped(). The task goes on: it knows nothing of it.
/// Errors: the exception that was set, broken_promise; shunt::error if !awaited.valid(); no memory, or no stack.
template <future_value T>
[[nodiscard]] detail::future_sender<T> as_sender(fiber_scheduler on, future<T> awaited) {
  return {on.runtime(), std::move(awaited)};
}

/// \return a sender that runs `body` to its end, beginning in a new fiber of `on`, and ends with set_value(result). It
/// is connected once, as an rvalue. Tasks that `body` makes by async() belong to the run.
///
/// A stop request ends it with set_stopped() before `body` has begun; not later.
/// Errors: what leaves `body`; no memory.
template <future_value T>
[[nodiscard]] detail::coroutine_sender<T> as_sender(fiber_scheduler on, coroutine_task<T>&& body) {
  return {on.runtime(), std::move(body)};
}

/// A fiber. The same, of the runtime that it runs in. \throws usage_error on a thread that is no worker.
template <typename Work>
  requires requires(fiber_scheduler on, Work&& work) { task::as_sender(on, std::forward<Work>(work)); }
[[nodiscard]] auto as_sender(Work&& work, std::source_location where = std::source_location::current()) {
  return task::as_sender(fiber_scheduler(where), std::forward<Work>(work));
}

namespace detail {

/// What sync_wait() waits for, in its fiber's frame. Edge `woken` of sched::waiter makes the rest visible.
template <typename Values>
struct sender_wait : sched::waiter {
  std::optional<Values> values;
  std::exception_ptr failure;
};

template <typename Values>
class waiting_receiver {
 public:
  using receiver_concept = execution::receiver;

  waiting_receiver(sender_wait<Values>& of, sched::runtime& on) noexcept : of_(&of), on_(&on) {}

  template <typename... Given>
  void set_value(Given&&... given) noexcept {
    try {
      of_->values.emplace(std::forward<Given>(given)...);
    } catch (...) {
      of_->failure = std::current_exception();
    }
    of_->wake();
  }
  template <typename Error>
  void set_error(Error&& why) noexcept {
    if constexpr (std::is_same_v<std::decay_t<Error>, std::exception_ptr>) {
      of_->failure = std::forward<Error>(why);
    } else if constexpr (std::is_same_v<std::decay_t<Error>, std::error_code>) {
      of_->failure = std::make_exception_ptr(std::system_error(why));
    } else {
      of_->failure = std::make_exception_ptr(std::forward<Error>(why));
    }
    of_->wake();
  }
  void set_stopped() noexcept { of_->wake(); }
  [[nodiscard]] fiber_environment get_env() const noexcept { return fiber_environment(*on_); }

 private:
  sender_wait<Values>* of_;
  sched::runtime* on_;
};

template <typename Signature>
struct values_of_signature {
  using type = std::tuple<>;
};
template <typename... Values>
struct values_of_signature<execution::set_value_t(Values...)> {
  using type = std::tuple<std::type_identity<std::tuple<std::decay_t<Values>...>>>;
};
template <typename Signatures>
struct values_of_signatures;
template <template <typename...> typename List, typename... Signatures>
struct values_of_signatures<List<Signatures...>> {
  using all = decltype(std::tuple_cat(std::declval<typename values_of_signature<Signatures>::type>()...));
  static_assert(std::tuple_size_v<all> == 1, "sync_wait() takes a sender that ends with set_value in one way");
  using type = typename std::tuple_element_t<0, all>::type;
};
template <typename Sender>
using values_of = typename values_of_signatures<execution::completion_signatures_of_t<Sender, fiber_environment>>::type;

}  // namespace detail

/// A fiber. Starts `sender`, any sender, and waits for its end. The fiber parks, and its worker runs others: the
/// library's own sync_wait would block the worker.
/// \return a tuple of the values; nothing if it ended with set_stopped().
/// \throws the error, a std::exception_ptr's exception, std::system_error for a std::error_code, or else the error
///         itself; what sched::this_fiber::require_wait() throws, and usage_error in a compact fiber, before it starts.
template <typename Sender>
[[nodiscard]] std::optional<detail::values_of<Sender>> sync_wait(
    Sender&& sender, std::source_location where = std::source_location::current()) {
  using values = detail::values_of<Sender>;
  const call_site call("sync_wait", where);
  sched::this_fiber::require_wait(call);
  sched::this_fiber::lend_frame(call);
  detail::sender_wait<values> end;
  auto operation = detail::execution::connect(std::forward<Sender>(sender),
                                              detail::waiting_receiver<values>(end, sched::this_worker::current(call)));
  detail::execution::start(operation);
  end.wait("a sender", call);
  if (end.failure) std::rethrow_exception(std::move(end.failure));
  return std::move(end.values);
}

}  // namespace task
}  // namespace v1
}  // namespace shunt

#endif
