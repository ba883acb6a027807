/// Stackless coroutines beside fibers: `co_await` on a future, and a coroutine type to do it in.
///
/// ```cpp
/// shunt::coroutine_task<long> total(shunt::future<long> a, shunt::future<long> b) {
///   co_return co_await a + co_await b;
/// }
/// shunt::finish([&] { sum = shunt::start(total(x, y)); });  // a shunt::future<long>
/// ```
///
/// A coroutine that waits costs its frame, some hundred bytes, and no stack: use them for tens of thousands of waiters
/// that do little. A coroutine runs on fibers: between two co_awaits it may also park, make tasks and fork. After a
/// co_await it goes on in a new fiber, perhaps on another worker: so, unlike a fiber's, its thread-locals change there.
///
/// Source of the transfer from coroutine to coroutine: P0913, ISO C++20 [expr.await].
#pragma once

#include <coroutine>
#include <exception>
#include <optional>
#include <source_location>
#include <type_traits>
#include <utility>
#include <variant>

#include <shunt/base/call_site.hpp>
#include <shunt/base/error.hpp>
#include <shunt/sched.hpp>
#include <shunt/task/finish.hpp>
#include <shunt/task/future.hpp>

namespace shunt {
inline namespace v1 {
namespace task {
namespace detail {

/// The wait of a coroutine for an event; in its frame. The coroutine goes on in a new fiber of the same runtime, with
/// the same scope.
class coroutine_waiter : one_event::listener {
 public:
  explicit coroutine_waiter(one_event& e) noexcept : listener(&resume), event_(e) {}

  [[nodiscard]] bool await_ready() const noexcept { return event_.happened(); }
  /// \throws usage_error outside a runtime.
  bool await_suspend(std::coroutine_handle<> h);

 private:
  static void resume(listener& l) noexcept;

  one_event& event_;
  sched::runtime* runtime_ = nullptr;
  void* scope_ = nullptr;
  std::coroutine_handle<> coroutine_;
};

template <future_value T>
class future_waiter : public coroutine_waiter {
 public:
  explicit future_waiter(const future<T>& f) : coroutine_waiter(event_behind::of(f, "co_await")), future_(f) {}
  decltype(auto) await_resume() const { return future_.get(std::source_location()); }  // no line of the program

 private:
  future<T> future_;  // a handle of its own: the awaited one may be a temporary
};

/// The failure of a coroutine_task, and the coroutine that goes on at its end.
class coroutine_promise_base {
 public:
  struct at_end {
    [[nodiscard]] bool await_ready() const noexcept { return false; }
    template <typename Promise>
    std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> h) const noexcept {
      return h.promise().continuation;
    }
    void await_resume() const noexcept {}
  };

  [[nodiscard]] std::suspend_always initial_suspend() const noexcept { return {}; }
  [[nodiscard]] at_end final_suspend() const noexcept { return {}; }
  void unhandled_exception() noexcept { failure = std::current_exception(); }

  std::coroutine_handle<> continuation;
  std::exception_ptr failure;
};

template <typename T>
struct coroutine_promise : coroutine_promise_base {
  template <typename U>
    requires std::constructible_from<T, U>
  void return_value(U&& result) {
    value.emplace(std::forward<U>(result));
  }
  std::optional<T> value;
};
template <>
struct coroutine_promise<void> : coroutine_promise_base {
  void return_void() const noexcept {}
};

}  // namespace detail

/// In a coroutine that runs on a fiber: `co_await f` is f.get() without holding a stack. The coroutine goes on in a new
/// fiber of the same runtime, with the same innermost finish, which must not end before: start() ensures that.
/// \return a reference to the result. \throws what get() throws; shunt::error if !f.valid(); usage_error outside a
/// runtime. Cost: nothing if ready; else one spawn, about 100 ns.
template <future_value T>
[[nodiscard]] auto operator co_await(const future<T>& f) {
  return detail::future_waiter<T>(f);
}

/// A coroutine that returns a T, or nothing. It starts when another coroutine_task awaits it, or start() gets it.
/// Moves, does not copy. Destroyed before that, it never runs.
template <future_value T = void>
class [[nodiscard]] coroutine_task {
 public:
  /// For the compiler.
  struct promise_type : detail::coroutine_promise<T> {
    /// For the compiler.
    coroutine_task get_return_object() noexcept {
      return coroutine_task(std::coroutine_handle<promise_type>::from_promise(*this));
    }
  };

  /// The other one has no coroutine afterwards.
  coroutine_task(coroutine_task&& other) noexcept : frame_(std::exchange(other.frame_, {})) {}
  /// Exchanges the two.
  coroutine_task& operator=(coroutine_task&& other) noexcept {
    std::swap(frame_, other.frame_);
    return *this;
  }
  coroutine_task(const coroutine_task&) = delete;
  coroutine_task& operator=(const coroutine_task&) = delete;
  ~coroutine_task() {
    if (frame_) frame_.destroy();
  }

  /// In another coroutine, once: runs this one to its end. \return its result, moved out.
  /// \throws the exception that left it.
  [[nodiscard]] auto operator co_await() && noexcept {
    struct waiter {
      std::coroutine_handle<promise_type> frame;
      [[nodiscard]] bool await_ready() const noexcept { return false; }
      std::coroutine_handle<> await_suspend(std::coroutine_handle<> h) const noexcept {
        frame.promise().continuation = h;
        return frame;
      }
      T await_resume() const {
        auto& ended = frame.promise();
        if (ended.failure) std::rethrow_exception(std::move(ended.failure));
        if constexpr (!std::is_void_v<T>) return std::move(*ended.value);
      }
    };
    SHUNT_ASSERT(frame_);
    return waiter{frame_};
  }

 private:
  explicit coroutine_task(std::coroutine_handle<promise_type> f) noexcept : frame_(f) {}
  std::coroutine_handle<promise_type> frame_;
};

namespace detail {

/// Runs a coroutine_task to its end, then calls `ended` of what start() was given. The frames and their captures are
/// gone before that.
template <typename Owner, void (Owner::*ended)() noexcept>
class coroutine_driver {
 public:
  struct promise_type {
    struct at_end {
      [[nodiscard]] bool await_ready() const noexcept { return false; }
      void await_suspend(std::coroutine_handle<promise_type> h) const noexcept {
        Owner& of = *h.promise().owner;
        h.destroy();
        (of.*ended)();
      }
      void await_resume() const noexcept {}
    };
    coroutine_driver get_return_object() noexcept {
      return coroutine_driver(std::coroutine_handle<promise_type>::from_promise(*this));
    }
    [[nodiscard]] std::suspend_always initial_suspend() const noexcept { return {}; }
    [[nodiscard]] at_end final_suspend() const noexcept { return {}; }
    void return_void() const noexcept {}
    [[noreturn]] void unhandled_exception() const noexcept { std::terminate(); }
    Owner* owner = nullptr;
  };

  void start(Owner& of) const {
    frame_.promise().owner = &of;
    frame_.resume();
  }

 private:
  explicit coroutine_driver(std::coroutine_handle<promise_type> f) noexcept : frame_(f) {}
  std::coroutine_handle<promise_type> frame_;
};

/// Gives `result` what `body` returns or throws. Its end is that of a task of a finish, which start() has entered.
template <future_value T>
coroutine_driver<finish_scope, &finish_scope::leave> drive(coroutine_task<T> body, promise<T> result) {
  std::exception_ptr failure;
  try {
    if constexpr (std::is_void_v<T>) {
      co_await std::move(body);
      result.set_value();
    } else {
      result.set_value(co_await std::move(body));
    }
  } catch (...) {
    failure = std::current_exception();
  }
  if (failure && !result.get_future().ready()) result.set_exception(std::move(failure));
}

/// The running fiber's innermost scope. \throws usage_error if there is none.
[[nodiscard]] finish_scope& must_have_finish(call_site call);

}  // namespace detail

/// A fiber, inside a finish() or a task of a task_group, which then waits for the coroutine, too. Runs `body` here
/// until it first waits for a future that is not ready. \return a future of its result, or of the exception that leaves
/// it, which the finish then does not see.
/// \throws usage_error outside any finish (a run() does not count frames), std::bad_alloc.
template <future_value T>
[[nodiscard]] future<T> start(coroutine_task<T> body, std::source_location where = std::source_location::current()) {
  auto& scope = detail::must_have_finish({"start", where});
  promise<T> made;
  auto reads = made.get_future();
  const auto driver = detail::drive(std::move(body), std::move(made));
  scope.enter();
  driver.start(scope);
  return reads;
}

}  // namespace task

using task::coroutine_task;
using task::start;

}  // namespace v1
}  // namespace shunt
