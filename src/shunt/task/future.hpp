/// A value that a task will have: promise and future, and tasks that return values.
///
/// ```cpp
/// auto left = shunt::async_value([&] { return sum(lower_half); });
/// const long right = sum(upper_half);
/// use(left.get() + right);  // parks this fiber until the task has returned
/// ```
///
/// Fibers and threads wait: a fiber parks, a thread blocks. Any thread may satisfy a promise. A wait for a future that
/// is never satisfied never ends. A promise that is destroyed unsatisfied satisfies its futures with broken_promise.
#pragma once

#include <atomic>
#include <chrono>
#include <concepts>
#include <cstdint>
#include <exception>
#include <optional>
#include <source_location>
#include <stop_token>
#include <type_traits>
#include <utility>
#include <variant>

#include <shunt/base/call_site.hpp>
#include <shunt/base/error.hpp>
#include <shunt/base/thread_cache.hpp>
#include <shunt/sched.hpp>
#include <shunt/task/finish.hpp>

namespace shunt {
inline namespace v1 {
namespace task {

/// The exception of a future whose promise was destroyed unsatisfied.
class broken_promise : public error {
 public:
  /// See error's: the text, what is known as numbers, the line.
  using error::error;
};

/// The type of a result: an object type that can be moved, or void.
template <typename T>
concept future_value =
    std::is_void_v<T> || (std::is_object_v<T> && std::move_constructible<T> && std::is_same_v<T, std::remove_cv_t<T>>);

namespace detail {

/// One event that happens once, and the list of its listeners.
///
///   word         happen()                        attach()                            detach()
///   listeners    -> happened, notifies them all  -> listeners + the new one, true    -> busy, -> listeners - that one,
///                                                                                    true
///   busy         waits                           waits                               waits
///   happened     breach of contract              false                               false
///
/// `busy`: detach() reads the list, for some ns. A listener stays where it is until it is notified or detached, as
/// happen() may be reading it.
///
/// Edges
///   happened   happen() -> notify, or an attach() that returns false    the result
///   listed     attach(), detach() -> detach(), happen()                 the list
class one_event {
 public:
  struct listener {
    using function = void (*)(listener&) noexcept;
    explicit listener(function f) noexcept : notify(f) {}
    function notify;  // happen() calls it once, and uses the listener no more
    listener* next = nullptr;
  };

  /// For a module whose events no single fiber causes, but which knows when a wait for one can never end.
  class watcher {
   public:
    /// The running fiber is about to wait without a deadline, unless `e` has happened.
    /// \return whether wait_ends() must be called.
    /// \throws sched::deadlock, or another exception: then the fiber does not wait.
    [[nodiscard]] virtual bool wait_begins(const one_event& e, call_site call) = 0;
    /// The same fiber.
    virtual void wait_ends() noexcept = 0;

   protected:
    ~watcher() = default;
  };

  /// Any thread, once.
  void happen() noexcept;
  /// Any thread. \return false if it has happened: then `l` is not notified.
  [[nodiscard]] bool attach(listener& l) noexcept;
  /// Any thread. \return false: `l` was notified, or is being notified.
  [[nodiscard]] bool detach(listener& l) noexcept;
  /// A fiber, or a thread that is no worker; any thread if it has happened. \throws what park() throws, before it
  /// waits; sched::deadlock.
  void wait(call_site call);
  /// The same, at the longest until `deadline` or a stop request. \return whether it has happened.
  [[nodiscard]] bool wait_until(call_site call, std::chrono::steady_clock::time_point deadline,
                                const std::stop_token& stop);
  /// Before other threads know of this event: only that fiber makes it happen.
  void made_by(sched::fiber_id maker) noexcept { maker_ = maker; }
  /// Likewise: `by` learns of each wait for this event that has no deadline. It outlives those waits.
  void watched_by(watcher& by) noexcept { watcher_ = &by; }
  [[nodiscard]] bool happened() const noexcept {
    return word_.load(std::memory_order_acquire) == done;  // edge `happened` in
  }

 private:
  [[nodiscard]] std::uintptr_t free_of_busy(std::uintptr_t seen) const noexcept;

  static constexpr std::uintptr_t done = 1;
  static constexpr std::uintptr_t busy = 2;  // a bit beside a listener*
  std::atomic<std::uintptr_t> word_{0};      // a listener*, or done
  sched::fiber_id maker_;
  watcher* watcher_ = nullptr;
};

/// The part that a promise and its futures share. `holders` counts the promise and each future.
///
/// Edge `left`, a holder's end -> the last one's end: the other holders use the result no more.
template <typename T>
struct shared_result : in_thread_cache {
  using stored = std::conditional_t<std::is_void_v<T>, std::monostate, T>;

  /// The promise only. \return false if it was satisfied before.
  [[nodiscard]] bool claim() noexcept { return !std::exchange(claimed, true); }

  std::atomic<std::uint32_t> holders{1};
  bool claimed = false;
  std::optional<stored> value;  // written by the thread that claimed; edge `happened` publishes both
  std::exception_ptr exception;
  one_event ready;
};

/// One holder's pointer to a shared_result. Unlike a std::shared_ptr it costs a locked instruction only where there is
/// another holder.
template <typename T>
class hold {
 public:
  hold() noexcept = default;
  [[nodiscard]] static hold of_new() { return hold(new shared_result<T>); }
  hold(const hold& other) noexcept : to_(other.to_) {
    if (to_ != nullptr) to_->holders.fetch_add(1, std::memory_order_relaxed);  // relaxed: `other` holds it during this
  }
  hold(hold&& other) noexcept : to_(std::exchange(other.to_, nullptr)) {}
  hold& operator=(hold other) noexcept {
    std::swap(to_, other.to_);
    return *this;
  }
  ~hold() {
    if (to_ == nullptr) return;
    // acquire: edge `left` in. The only holder need not subtract: no further one can come.
    if (to_->holders.load(std::memory_order_acquire) != 1 &&
        to_->holders.fetch_sub(1, std::memory_order_acq_rel) != 1) {  // edge `left`
      return;
    }
    delete to_;
  }
  /// A copy, for the only user of this hold. If this is also the only hold, no other thread can change the count now.
  [[nodiscard]] hold again() const noexcept {
    // relaxed, both: another edge hands the second hold to its thread
    if (to_ == nullptr || to_->holders.load(std::memory_order_relaxed) != 1) return *this;
    to_->holders.store(2, std::memory_order_relaxed);
    return hold(to_);
  }

  [[nodiscard]] shared_result<T>* operator->() const noexcept { return to_; }
  [[nodiscard]] shared_result<T>& operator*() const noexcept { return *to_; }
  [[nodiscard]] explicit operator bool() const noexcept { return to_ != nullptr; }

 private:
  explicit hold(shared_result<T>* to) noexcept : to_(to) {}
  shared_result<T>* to_ = nullptr;
};

struct event_behind;

[[noreturn]] void throw_no_state(call_site call);
[[noreturn]] void throw_satisfied(call_site call);
[[nodiscard]] std::exception_ptr broken() noexcept;

}  // namespace detail

/// The reading end. A handle: copies read the same result, from several fibers if they like.
template <future_value T>
class future {
 public:
  /// What the result is.
  using value_type = T;

  future() noexcept = default;  ///< of no promise; may be assigned to, and asked valid()

  /// Whether it is of a promise.
  [[nodiscard]] bool valid() const noexcept { return static_cast<bool>(result_); }

  /// Any thread: whether get() returns at once.
  [[nodiscard]] bool ready() const noexcept { return result_ && result_->ready.happened(); }

  /// A fiber, or a thread that is no worker; any thread if ready(). Waits for the result, or the exception.
  /// \throws what sched::this_fiber::park() throws, unless ready(); shunt::error if !valid(); sched::deadlock if the
  ///         task that makes the result waits, perhaps through others, for this fiber.
  void wait(std::source_location where = std::source_location::current()) const {
    const call_site call("future::wait", where);
    state(call).ready.wait(call);
  }

  /// The same, at the longest until `deadline` or until `stop` is asked to stop.
  /// \return whether it is ready(). \throws as wait(), but no deadlock; std::bad_alloc.
  [[nodiscard]] bool wait_until(std::chrono::steady_clock::time_point deadline, const std::stop_token& stop = {},
                                std::source_location where = std::source_location::current()) const {
    const call_site call("future::wait_until", where);
    return state(call).ready.wait_until(call, deadline, stop);
  }
  /// The same, `time` from now at the latest.
  [[nodiscard]] bool wait_for(std::chrono::nanoseconds time, const std::stop_token& stop = {},
                              std::source_location where = std::source_location::current()) const {
    return wait_until(sched::after(time), stop, where);
  }
  /// The same without a deadline: until there is a result, or `stop` is asked to stop.
  [[nodiscard]] bool wait(const std::stop_token& stop,
                          std::source_location where = std::source_location::current()) const {
    return wait_until(std::chrono::steady_clock::time_point::max(), stop, where);
  }

  /// A fiber, or a thread that is no worker; any thread if ready(). Waits.
  /// \return the result, which lives as long as any copy of this future, or its promise.
  /// \throws the exception that was set, broken_promise, or as wait(). With a deadline: call wait_until() first.
  decltype(auto) get(std::source_location where = std::source_location::current()) const {
    const call_site call("future::get", where);
    auto& s = state(call);
    s.ready.wait(call);
    if (s.exception) std::rethrow_exception(s.exception);
    if constexpr (!std::is_void_v<T>) return static_cast<const T&>(*s.value);
  }

  /// As get(), but moves the result out. For the only reader: a later get() returns a moved-from object.
  T take(std::source_location where = std::source_location::current())
    requires(!std::is_void_v<T>)
  {
    static_cast<void>(get(where));
    return std::move(*result_->value);
  }

 private:
  template <future_value U>
  friend class promise;
  friend struct detail::event_behind;
  using state_type = detail::shared_result<T>;
  explicit future(detail::hold<T> result) noexcept : result_(std::move(result)) {}

  state_type& state(call_site call) const {
    if (!result_) detail::throw_no_state(call);
    return *result_;
  }

  detail::hold<T> result_;
};

namespace detail {
/// For code that listens to futures without waiting.
struct event_behind {
  /// \throws shunt::error if !f.valid().
  template <future_value T>
  [[nodiscard]] static one_event& of(const future<T>& f, call_site call) {
    return f.state(call).ready;
  }
};
}  // namespace detail

/// The writing end. Any thread, one at a time. Moves, does not copy.
template <future_value T>
class promise {
  template <typename... Arguments>
  static constexpr bool made_of = std::is_constructible_v<typename detail::shared_result<T>::stored, Arguments...>;

 public:
  /// \throws std::bad_alloc
  promise() : result_(detail::hold<T>::of_new()) {}
  /// The other one is of no future afterwards.
  promise(promise&&) noexcept = default;
  /// What it had promised and not set becomes broken_promise.
  promise& operator=(promise&& other) noexcept {
    promise old(std::move(other));  // the old result becomes broken_promise with it
    std::swap(old.result_, result_);
    return *this;
  }
  promise(const promise&) = delete;
  promise& operator=(const promise&) = delete;

  /// Unsatisfied: its futures deliver broken_promise.
  ~promise() {
    if (result_ && result_->claim()) {
      result_->exception = detail::broken();
      result_->ready.happen();
    }
  }

  /// Any number of times. \throws shunt::error if moved from.
  [[nodiscard]] future<T> get_future(std::source_location where = std::source_location::current()) const {
    if (!result_) detail::throw_no_state({"promise::get_future", where});
    return future<T>(result_.again());
  }

  /// Satisfies every future, and wakes their waiters. Does not wait.
  /// \throws shunt::error if already satisfied or moved from; what T's constructor throws: then the
  ///         futures deliver that exception as well.
  void set_value(std::source_location where = std::source_location::current())
    requires(made_of<> && !made_of<std::source_location>)
  {
    satisfy({"promise::set_value", where});
  }
  /// The same, with the result, or what it is made of.
  template <typename Argument>
    requires(made_of<Argument> && !made_of<Argument, std::source_location>)
  void set_value(Argument&& argument, std::source_location where = std::source_location::current()) {
    satisfy({"promise::set_value", where}, std::forward<Argument>(argument));
  }
  /// The same, with several arguments of T's constructor, or where the last one may be a line; errors name no line.
  template <typename... Arguments>
    requires(made_of<Arguments...> && (sizeof...(Arguments) > 1 || made_of<Arguments..., std::source_location>))
  void set_value(Arguments&&... arguments) {
    satisfy("promise::set_value", std::forward<Arguments>(arguments)...);
  }

  /// As set_value. \param what  not null (contract).
  void set_exception(std::exception_ptr what, std::source_location where = std::source_location::current()) {
    SHUNT_ASSERT(what != nullptr);
    sched::this_fiber::interleave();
    auto& s = claimed({"promise::set_exception", where});
    s.exception = std::move(what);
    s.ready.happen();
  }

 private:
  template <typename... Arguments>
  void satisfy(call_site call, Arguments&&... arguments) {
    sched::this_fiber::interleave();
    auto& s = claimed(call);
    try {
      s.value.emplace(std::forward<Arguments>(arguments)...);
    } catch (...) {
      s.exception = std::current_exception();
      s.ready.happen();
      throw;
    }
    s.ready.happen();
  }
  detail::shared_result<T>& claimed(call_site call) {
    if (!result_) detail::throw_no_state(call);
    if (!result_->claim()) detail::throw_satisfied(call);
    return *result_;
  }

  detail::hold<T> result_;
};

/// As async(), for a `body` with a result. The future delivers the result; or the exception that left `body`; or, if
/// the task's fiber gets no stack, the error that says why. The finish does not see these exceptions, but waits for the
/// task.
template <typename F>
[[nodiscard]] auto async_value(F&& body, std::source_location where = std::source_location::current())
    -> future<std::decay_t<std::invoke_result_t<std::decay_t<F>&>>> {
  using result = std::decay_t<std::invoke_result_t<std::decay_t<F>&>>;
  promise<result> made;
  auto reads = made.get_future();
  const call_site call("async_value", where);
  const auto maker =
      detail::spawn_here(call, [p = std::move(made), f = std::decay_t<F>(std::forward<F>(body))]() mutable {
        std::exception_ptr failure;
        try {
          sched::this_fiber::require_stack();
          if constexpr (std::is_void_v<result>) {
            f();
            p.set_value();
          } else {
            p.set_value(f());
          }
          return;
        } catch (...) {
          failure = std::current_exception();
        }
        // If the result's own constructor threw, set_value() has set the exception already.
        if (!p.get_future().ready()) p.set_exception(std::move(failure));
      });
  detail::event_behind::of(reads, "async_value").made_by(maker);
  return reads;
}

}  // namespace task

using task::async_value;
using task::broken_promise;
using task::future;
using task::future_value;
using task::promise;

}  // namespace v1
}  // namespace shunt
