#include <shunt/task/finish.hpp>

#include <shunt/sched/timed_wait.hpp>

namespace shunt {
inline namespace v1 {
namespace task {
namespace detail {
namespace {

sched::waker may_wait(call_site call) {
  sched::this_fiber::require_wait(call);
  sched::this_fiber::lend_frame(call);
  return sched::this_fiber::self();
}

}  // namespace

finish_scope::finish_scope(call_site call) : waiter_(may_wait(call)) {}

void finish_scope::enter() noexcept {
  open_.fetch_add(1, std::memory_order_relaxed);  // relaxed: the caller is open itself (finish.S1)
}

void finish_scope::leave() noexcept {
  const auto waiter = waiter_;  // finish.S2
  // acq_rel: edge `done` out, and in from those that left before, whose writes it passes on
  if (open_.fetch_sub(1, std::memory_order_acq_rel) == 1) waiter.wake();
}

void finish_scope::fail(std::exception_ptr what) noexcept {
  // relaxed: it decides which failure is the first, and orders nothing
  if (!failed_.exchange(true, std::memory_order_relaxed)) failure_ = std::move(what);
}

// noexcept: park() cannot throw here, as the constructor asked whether this fiber may wait. Were waiting forbidden
// since, and not allowed again, the tasks would outlive their scope.
void finish_scope::wait(const char* what) noexcept {
  if (open_.fetch_sub(1, std::memory_order_acq_rel) == 1) return;  // edge `done` in
  while (open_.load(std::memory_order_acquire) != 0) {             // edge `done` in
    sched::this_fiber::park(what);
  }
}

void finish_scope::wait() noexcept { wait("its tasks"); }

bool finish_scope::try_wait() noexcept {
  // relaxed: a look. If no task is open, none can come (finish.S1), and wait() has edge `done`.
  if (open_.load(std::memory_order_relaxed) != 1) return false;
  wait();
  return true;
}

void finish_scope::wait_stopped(call_site call) noexcept {
  if (try_wait()) return;
  const sched::late_stop late(call, this);
  wait("its tasks, which were asked to stop");
}

/// Subtracts the waiter's 1 as wait() does, and adds it again if the wait ends before the tasks.
bool finish_scope::wait_until(call_site call, std::chrono::steady_clock::time_point deadline,
                              const std::stop_token& stop) {
  sched::this_fiber::require_wait(call);
  if (open_.fetch_sub(1, std::memory_order_acq_rel) == 1) return true;  // edge `done` in
  const auto add_again = [&] {
    // acq_rel: edge `done` in. \return whether the last task has left in between: then this 1 is reopen()'s.
    return open_.fetch_add(1, std::memory_order_acq_rel) == 0;
  };
  const auto all_left = [&] { return open_.load(std::memory_order_acquire) == 0; };  // edge `done` in
  try {
    const auto end = sched::this_fiber::wait_until(all_left, deadline, stop, "its tasks");
    return end == sched::wait_end::done || add_again();
  } catch (...) {  // no memory for the deadline
    add_again();
    throw;
  }
}

void finish_scope::reopen() noexcept {
  open_.store(1, std::memory_order_relaxed);        // relaxed: no task is left (finish.S1)
  failed_.store(false, std::memory_order_relaxed);  // relaxed: likewise
}

void finish_scope::rethrow() {
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

sched::fiber_id spawn_into(call_site call, finish_scope* scope, std::function<void()> body, sched::spawn_options how) {
  auto& rt = sched::this_worker::current(call);
  const auto line = call.where({});  // unknown, rather than one of the library
  how.even_without_stack = true;
  if (scope == nullptr) return rt.spawn(std::move(body), std::move(how), line);
  scope->enter();
  try {
    return rt.spawn(
        [scope, work = std::move(body)]() mutable {
          sched::this_fiber::set_scope(scope);
          try {
            work();
          } catch (...) {
            scope->fail(std::current_exception());
          }
          try {
            work = nullptr;  // destroys the captures before the finish ends
          } catch (...) {
            scope->fail(std::current_exception());
          }
          scope->leave();
        },
        std::move(how), line);
  } catch (...) {
    scope->leave();
    throw;
  }
}

}  // namespace detail
}  // namespace task
}  // namespace v1
}  // namespace shunt
