/// Structured tasks: `finish` waits for every task that `async` makes inside it.
///
/// ```cpp
/// shunt::finish([&] {
///   for (auto& block : blocks) shunt::async([&block] { solve(block); });
/// });  // all blocks are solved
/// ```
///
/// Terms and meaning follow X10 and HClib: Charles et al., OOPSLA 2005,
/// doi:10.1145/1094811.1094852; Paul et al., ICCS 2023, doi:10.1007/978-3-031-35995-8_15.
///
/// For fibers of sched::runtime::run(). A fiber that waits parks; its worker runs others.
#pragma once

#include <atomic>
#include <chrono>
#include <exception>
#include <functional>
#include <memory>
#include <source_location>
#include <stop_token>
#include <type_traits>
#include <utility>

#include <shunt/base/call_site.hpp>
#include <shunt/sched.hpp>

namespace shunt {
inline namespace v1 {
namespace task {
namespace detail {

/// Counts the tasks of one finish, or group. Belongs to the fiber that made it, which waits.
///
/// Invariants
///   finish.S1  open_ = tasks that have not ended + 1 while the waiter has not called wait(). A task adds its child
///              before it ends, so 0 is final until reopen().
///   finish.S2  The task that subtracts the last 1 wakes the waiter, and uses nothing of the scope after the
///              subtraction: the waiter may have seen 0 by itself, and have destroyed the scope.
///
/// Edge `done`, leave() -> wait(): what a task wrote is visible after finish().
class finish_scope {
 public:
  /// \param call  the public function, for messages. \throws what park() throws where waiting is impossible.
  explicit finish_scope(call_site call);
  finish_scope(const finish_scope&) = delete;
  finish_scope& operator=(const finish_scope&) = delete;
  ~finish_scope() = default;

  /// The running fiber's innermost; nullptr for none.
  [[nodiscard]] static finish_scope* innermost() noexcept {
    return static_cast<finish_scope*>(sched::this_fiber::scope());
  }

  void enter() noexcept;                        // a task of this scope, for a new task
  void leave() noexcept;                        // a task, as its last action; or to undo enter()
  void fail(std::exception_ptr what) noexcept;  // a task, or the waiter
  void wait() noexcept;                         // the waiter, once, or once more after reopen()
  /// The waiter: wait() if that returns at once. \return whether it was called: all tasks have ended.
  [[nodiscard]] bool try_wait() noexcept;
  /// wait() for tasks that were asked to stop: a report names those that have not ended after options::stop_after.
  /// \param call  whose tasks they are, and the line that waits for them, or has made their group.
  void wait_stopped(call_site call) noexcept;
  /// The waiter: wait() until the deadline or a stop request at the longest. \param call  the public function, for
  /// errors. \return whether all tasks have ended; if not, the scope is as it was before the call.
  [[nodiscard]] bool wait_until(call_site call, std::chrono::steady_clock::time_point deadline,
                                const std::stop_token& stop);
  void rethrow();          // the waiter, after wait()
  void reopen() noexcept;  // the waiter, after wait()

 private:
  void wait(const char* what) noexcept;

  const sched::waker waiter_;
  std::atomic<long> open_{1};
  std::atomic<bool> failed_{false};
  std::exception_ptr failure_;  // written by the task that set failed_; edge `done` publishes it
};

/// While it lives, `scope` is the running fiber's innermost.
class entered_scope {
 public:
  explicit entered_scope(finish_scope& scope) : outer_(sched::this_fiber::scope()) {
    sched::this_fiber::set_scope(&scope);
  }
  entered_scope(const entered_scope&) = delete;
  entered_scope& operator=(const entered_scope&) = delete;
  ~entered_scope() { sched::this_fiber::set_scope(outer_); }

 private:
  void* const outer_;
};

/// Makes a task of `scope`; of run() if that is null. An exception that leaves `body` is the scope's failure.
/// \param call  the function that the program called, for errors.
/// \param body  called also if its fiber gets no stack, and then cannot wait: it calls this_fiber::require_stack()
///              first, at a place from which the exception reaches those that wait for it.
/// \param how   of the task's fiber; even_without_stack is set.
sched::fiber_id spawn_into(call_site call, finish_scope* scope, std::function<void()> body,
                           sched::spawn_options how = {});

/// For spawn_into(). std::function copies what it holds; it holds a shared pointer to what cannot be copied.
template <typename F>
[[nodiscard]] std::function<void()> as_function(F&& f) {
  using held = std::decay_t<F>;
  if constexpr (std::is_copy_constructible_v<held>) {
    return std::function<void()>([g = std::forward<F>(f)]() mutable { static_cast<void>(g()); });
  } else {
    return [g = std::make_shared<held>(std::forward<F>(f))] { static_cast<void>((*g)()); };
  }
}

/// As async(), for a body that itself handles a fiber without a stack: see spawn_into().
template <typename F>
sched::fiber_id spawn_here(call_site call, F&& body) {
  return spawn_into(call, finish_scope::innermost(), as_function(std::forward<F>(body)));
}

}  // namespace detail

/// A fiber only. Calls `body` at once, on this fiber; returns when it and every task made inside, by it or by such a
/// task, have ended. What they wrote is visible then. Nests.
/// \throws the first exception, in time, that left `body` or a task of this finish, after all have ended (the others
///         are dropped); what sched::this_fiber::park() throws where waiting is impossible, before `body` is called.
/// Cost: some 8 ns and the tasks.
template <typename F>
void finish(F&& body, std::source_location where = std::source_location::current()) {
  detail::finish_scope scope({"finish", where});
  try {
    const detail::entered_scope here(scope);
    std::forward<F>(body)();
  } catch (...) {
    scope.fail(std::current_exception());
  }
  scope.wait();
  scope.rethrow();
}

template <typename F>
void async(sched::spawn_options how, F&& body, std::source_location where = std::source_location::current());

/// A fiber only. Makes a task that calls `body` later, on this or another worker. The task belongs to the innermost
/// finish of the caller; outside of any, to sched::runtime::run(), which then waits for it and throws what it throws.
/// `body` may wait, make tasks and open a finish of its own.
/// If the system has no memory for the task's stack when it is to start, the task has failed: the finish, or run(),
/// throws a shunt::error that names the limit to raise.
/// \param body  copied or moved, and called once; its result is dropped.
/// \throws std::bad_alloc; then there is no task. Cost: about 100 ns.
template <typename F>
void async(F&& body, std::source_location where = std::source_location::current()) {
  async(sched::spawn_options(), std::forward<F>(body), where);
}
/// The same, in a fiber with a name, a stack or a worker of its own: `async({.name = "indexer"}, body)`.
/// \throws what sched::runtime::spawn() throws; then there is no task.
template <typename F>
void async(sched::spawn_options how, F&& body, std::source_location where) {
  detail::spawn_into({"async", where}, detail::finish_scope::innermost(),
                     detail::as_function([f = std::decay_t<F>(std::forward<F>(body))]() mutable {
                       sched::this_fiber::require_stack();
                       static_cast<void>(f());
                     }),
                     std::move(how));
}

}  // namespace task

using task::async;
using task::finish;

}  // namespace v1
}  // namespace shunt
