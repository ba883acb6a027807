/// What <shunt/task/senders.hpp> starts: the operation of each sender, between connect() and its end.
///
/// Each ends in a new fiber of its runtime, so that what follows may wait as any fiber may, and nested ends need no
/// stack of their own. The operation may be gone as soon as its receiver has been told the end.
#pragma once

#include <shunt/task/detail/execution_names.hpp>

#if SHUNT_SENDERS

#include <atomic>
#include <concepts>
#include <exception>
#include <memory>
#include <optional>
#include <source_location>
#include <stop_token>
#include <type_traits>
#include <utility>
#include <variant>

#include <shunt/sched.hpp>
#include <shunt/task/coroutine.hpp>
#include <shunt/task/finish.hpp>
#include <shunt/task/future.hpp>

namespace shunt {
inline namespace v1 {
namespace task {
namespace detail {

template <typename T>
using stored_value = typename shared_result<T>::stored;

/// Calls op.run() in a new fiber of `on`, once. Or op.refused(why), here, if there is no memory for that; or
/// op.dropped(), if the runtime ends and has never run that fiber. Afterwards the operation may be gone.
template <typename Operation>
void run_in_fiber(sched::runtime& on, Operation& op) noexcept {
  struct handle {
    explicit handle(Operation& of) noexcept : op(&of) {}
    handle(const handle&) = delete;
    handle& operator=(const handle&) = delete;
    ~handle() {
      if (op != nullptr) op->dropped();
    }
    Operation* op;
  };
  std::shared_ptr<handle> held;
  std::exception_ptr failure;
  try {
    held = std::make_shared<handle>(op);
    on.spawn([held] { std::exchange(held->op, nullptr)->run(); }, {.even_without_stack = true},
             std::source_location());  // no line of the program
  } catch (...) {
    if (held) held->op = nullptr;
    failure = std::current_exception();
  }
  if (failure) op.refused(std::move(failure));
}

/// What all operations have in common: where they end, and what is told the end.
template <typename Receiver>
class operation_base {
 public:
  using operation_state_concept = execution::operation;

  operation_base(sched::runtime& on, Receiver&& receiver) : on_(on), receiver_(std::move(receiver)) {}
  operation_base(const operation_base&) = delete;
  operation_base& operator=(const operation_base&) = delete;

  void refused(std::exception_ptr why) noexcept { execution::set_error(std::move(receiver_), std::move(why)); }
  void dropped() noexcept { execution::set_stopped(std::move(receiver_)); }

 protected:
  ~operation_base() = default;

  using token = std::remove_cvref_t<execution::stop_token_of_t<execution::env_of_t<Receiver>>>;
  [[nodiscard]] token stop() const noexcept { return execution::get_stop_token(execution::get_env(receiver_)); }
  [[nodiscard]] bool asked_to_stop() const noexcept {
    return stop().stop_requested() || on_.stop_token().stop_requested();
  }
  /// \tparam T  of the value; void: none.
  template <typename T>
  void end(std::exception_ptr failure, bool stopped, std::optional<stored_value<T>>& value) noexcept {
    if (failure) {
      execution::set_error(std::move(receiver_), std::move(failure));
    } else if (stopped) {
      execution::set_stopped(std::move(receiver_));
    } else if constexpr (std::is_void_v<T>) {
      execution::set_value(std::move(receiver_));
    } else {
      auto moved = std::move(*value);  // `value` may be a part of the operation
      execution::set_value(std::move(receiver_), std::move(moved));
    }
  }

  sched::runtime& on_;
  Receiver receiver_;
};

/// Of fiber_scheduler::schedule().
template <typename Receiver>
class schedule_operation : public operation_base<Receiver> {
 public:
  using operation_base<Receiver>::operation_base;

  void start() & noexcept {
    if (this->asked_to_stop()) return this->dropped();
    run_in_fiber(this->on_, *this);
  }
  void run() noexcept {
    std::exception_ptr failure;
    try {
      sched::this_fiber::require_stack();
    } catch (...) {
      failure = std::current_exception();
    }
    std::optional<std::monostate> none;
    this->template end<void>(std::move(failure), this->asked_to_stop(), none);
  }
};

/// How a function that was given a stop token says that a stop has ended it.
template <typename T>
[[nodiscard]] bool says_stopped([[maybe_unused]] const T& result) noexcept {
  if constexpr (std::is_same_v<T, bool>) {
    return !result;
  } else if constexpr (requires { result.has_value(); }) {
    return !result.has_value();
  } else if constexpr (std::is_enum_v<T> && requires { T::stopped; }) {
    return result == T::stopped;
  } else {
    return false;
  }
}

template <typename F>
struct result_of_work : std::invoke_result<F&> {};
template <typename F>
  requires std::invocable<F&, std::stop_token>
struct result_of_work<F> : std::invoke_result<F&, std::stop_token> {};

/// Of as_sender() for a function.
template <typename F, typename Receiver>
class function_operation : public operation_base<Receiver> {
 public:
  using result = std::decay_t<typename result_of_work<F>::type>;

  template <typename G>
  function_operation(sched::runtime& on, G&& work, Receiver&& receiver)
      : operation_base<Receiver>(on, std::move(receiver)), work_(std::forward<G>(work)) {}

  void start() & noexcept {
    if (this->asked_to_stop()) return this->dropped();
    run_in_fiber(this->on_, *this);
  }
  void run() noexcept {
    std::exception_ptr failure;
    std::optional<stored_value<result>> value;
    bool stopped = this->asked_to_stop();
    try {
      sched::this_fiber::require_stack();
      if (!stopped) stopped = call(value);
    } catch (...) {
      failure = std::current_exception();
    }
    this->template end<result>(std::move(failure), stopped, value);
  }

 private:
  struct ask {
    std::stop_source& source;
    void operator()() const noexcept { source.request_stop(); }
  };

  static constexpr std::source_location no_line{};  // of the program

  /// \return whether a stop has ended the call.
  bool call(std::optional<stored_value<result>>& value) {
    if constexpr (std::invocable<F&, std::stop_token>) {
      std::stop_source source;
      {
        const execution::stop_callback_for_t<typename operation_base<Receiver>::token, ask> by_receiver(this->stop(),
                                                                                                        ask{source});
        const std::stop_callback by_run(this->on_.stop_token(), ask{source});
        task::finish([&] { keep(value, [&] { return work_(source.get_token()); }); }, no_line);
      }
      return source.stop_requested() && says_stopped(*value);
    } else {
      task::finish([&] { keep(value, work_); }, no_line);
      return false;
    }
  }
  template <typename G>
  static void keep(std::optional<stored_value<result>>& value, G&& body) {
    if constexpr (std::is_void_v<result>) {
      body();
      value.emplace();
    } else {
      value.emplace(body());
    }
  }

  F work_;
};

/// Of as_sender() for a future. The event's listener notifies it, unless a stop request takes the listener away before.
///
///   parts_ counts what must have happened before the end: start() is over, and the event or the stop has come. The
///   last of the two makes the fiber that ends the operation.
///
/// Edge `joined`, part_ended() -> part_ended(): the callback that start() made, and whether a stop came first.
template <typename T, typename Receiver>
class future_operation : public operation_base<Receiver>, one_event::listener {
 public:
  future_operation(sched::runtime& on, future<T> awaited, Receiver&& receiver)
      : operation_base<Receiver>(on, std::move(receiver)), listener(&notify), future_(std::move(awaited)) {}

  void start() & noexcept {
    if (this->asked_to_stop()) return this->dropped();
    std::exception_ptr failure;
    try {
      event_ = &event_behind::of(future_, "as_sender");
    } catch (...) {
      failure = std::current_exception();
    }
    if (failure) return this->refused(std::move(failure));
    if (!event_->attach(*this)) return run_in_fiber(this->on_, *this);
    // From here on the event may happen, and be the first part that ends.
    if (auto stop = this->stop(); stop.stop_possible()) by_receiver_.emplace(std::move(stop), take_away{*this});
    if (auto stop = this->on_.stop_token(); stop.stop_possible()) by_run_.emplace(std::move(stop), take_away{*this});
    part_ended();
  }
  void run() noexcept {
    by_receiver_.reset();  // both wait for a callback that is under way
    by_run_.reset();
    if (stopped_) return this->dropped();
    const auto kept = future_;  // the result lives until the receiver has been told
    [[maybe_unused]] const stored_value<T>* value = nullptr;
    std::exception_ptr failure;
    try {
      sched::this_fiber::require_stack();
      constexpr std::source_location no_line;  // of the program
      if constexpr (std::is_void_v<T>) {
        kept.get(no_line);
      } else {
        value = std::addressof(kept.get(no_line));
      }
    } catch (...) {
      failure = std::current_exception();
    }
    if (failure) return this->refused(std::move(failure));
    if constexpr (std::is_void_v<T>) {
      execution::set_value(std::move(this->receiver_));
    } else {
      execution::set_value(std::move(this->receiver_), *value);
    }
  }

 private:
  struct take_away {
    future_operation& of;
    void operator()() const noexcept {
      if (!of.event_->detach(of)) return;  // it has happened
      of.stopped_ = true;
      of.part_ended();
    }
  };

  static void notify(listener& me) noexcept { static_cast<future_operation&>(me).part_ended(); }
  void part_ended() noexcept {
    // acq_rel: edge `joined`
    if (parts_.fetch_sub(1, std::memory_order_acq_rel) == 1) run_in_fiber(this->on_, *this);
  }

  future<T> future_;
  one_event* event_ = nullptr;
  std::optional<execution::stop_callback_for_t<typename operation_base<Receiver>::token, take_away>> by_receiver_;
  std::optional<std::stop_callback<take_away>> by_run_;
  std::atomic<int> parts_{2};
  bool stopped_ = false;  // written before part_ended()
};

/// Gives `op` what `body` returns or throws. The frames are gone before the operation ends.
template <typename T, typename Operation>
coroutine_driver<Operation, &Operation::body_ended> run_body(coroutine_task<T> body, Operation& op) {
  try {
    if constexpr (std::is_void_v<T>) {
      co_await std::move(body);
      op.value().emplace();
    } else {
      op.value().emplace(co_await std::move(body));
    }
  } catch (...) {
    op.fail(std::current_exception());
  }
}

/// Of as_sender() for a coroutine. It begins in a new fiber, and ends in the one in which the coroutine has ended.
template <typename T, typename Receiver>
class coroutine_operation : public operation_base<Receiver> {
 public:
  coroutine_operation(sched::runtime& on, coroutine_task<T>&& body, Receiver&& receiver)
      : operation_base<Receiver>(on, std::move(receiver)), body_(std::move(body)) {}

  void start() & noexcept {
    if (this->asked_to_stop()) return this->dropped();
    run_in_fiber(this->on_, *this);
  }
  void run() noexcept {
    if (this->asked_to_stop()) return this->dropped();
    std::exception_ptr failure;
    try {
      run_body(std::move(body_), *this).start(*this);
    } catch (...) {  // no memory for a frame
      failure = std::current_exception();
    }
    if (failure) this->refused(std::move(failure));
  }

  // For the coroutine.
  [[nodiscard]] std::optional<stored_value<T>>& value() noexcept { return value_; }
  void fail(std::exception_ptr why) noexcept { failure_ = std::move(why); }
  void body_ended() noexcept { this->template end<T>(std::move(failure_), false, value_); }

 private:
  coroutine_task<T> body_;
  std::optional<stored_value<T>> value_;
  std::exception_ptr failure_;
};

}  // namespace detail
}  // namespace task
}  // namespace v1
}  // namespace shunt

#endif
