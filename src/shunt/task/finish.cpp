#include <shunt/task/finish.hpp>

namespace shunt {
inline namespace v1 {
namespace detail {
namespace {

sched::waker may_wait(const char* call) {
  sched::this_fiber::require_wait(call);
  return sched::this_fiber::self();
}

}  // namespace

finish_scope::finish_scope(const char* call) : waiter_(may_wait(call)) {}

void finish_scope::enter() noexcept {
  open_.fetch_add(1, std::memory_order_relaxed);  // relaxed: S1, the caller holds one itself
}

void finish_scope::leave() noexcept {
  const auto who = waiter_;  // S2
  // acq_rel: edge `done` out, and the earlier leavers' halves stay in the chain.
  if (open_.fetch_sub(1, std::memory_order_acq_rel) == 1) who.wake();
}

void finish_scope::fail(std::exception_ptr what) noexcept {
  // relaxed: decides who is first, and nothing else
  if (!failed_.exchange(true, std::memory_order_relaxed)) failure_ = std::move(what);
}

// noexcept: park() cannot refuse here, as the constructor asked; were waiting forbidden since, and
// not allowed again, the tasks would outlive their scope.
void finish_scope::wait() noexcept {
  if (open_.fetch_sub(1, std::memory_order_acq_rel) == 1) return;  // edge `done` in
  while (open_.load(std::memory_order_acquire) != 0) {             // edge `done` in
    sched::this_fiber::park("its tasks");
  }
}

bool finish_scope::wait_until(std::chrono::steady_clock::time_point deadline, const std::stop_token& stop) {
  sched::this_fiber::require_wait("wait_until");
  const auto awaken = [who = waiter_] { who.wake(); };
  const std::stop_callback on_stop(stop, awaken);
  if (open_.fetch_sub(1, std::memory_order_acq_rel) == 1) return true;  // edge `done` in
  const auto take_back = [&] {
    // acq_rel: edge `done` in. The tasks' 0 may have come in between: then this 1 is reopen()'s.
    return open_.fetch_add(1, std::memory_order_acq_rel) == 0;
  };
  try {
    while (open_.load(std::memory_order_acquire) != 0) {  // edge `done` in
      if (stop.stop_requested() || !sched::this_fiber::park_until(deadline, "its tasks")) return take_back();
    }
  } catch (...) {  // no memory for the deadline
    take_back();
    throw;
  }
  return true;
}

void finish_scope::reopen() noexcept {
  open_.store(1, std::memory_order_relaxed);        // relaxed: no task is left (S1)
  failed_.store(false, std::memory_order_relaxed);  // likewise
}

void finish_scope::rethrow() {
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

sched::fiber_id spawn_into(finish_scope* scope, std::function<void()> body) {
  auto& rt = sched::this_worker::current();
  if (scope == nullptr) return rt.spawn(std::move(body), {.even_without_stack = true});
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
            work = nullptr;  // the captures end before the finish does
          } catch (...) {
            scope->fail(std::current_exception());
          }
          scope->leave();
        },
        {.even_without_stack = true});
  } catch (...) {
    scope->leave();
    throw;
  }
}

}  // namespace detail
}  // namespace v1
}  // namespace shunt
