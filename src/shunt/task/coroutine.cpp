#include <shunt/task/coroutine.hpp>

#include <string>

namespace shunt {
inline namespace v1 {
namespace task {
namespace detail {

bool coroutine_waiter::await_suspend(std::coroutine_handle<> h) {
  runtime_ = &sched::this_worker::current("co_await");
  scope_ = sched::this_fiber::scope();
  coroutine_ = h;
  // If attach() returns true, the coroutine may run elsewhere already: this frame is not used any more.
  return event_.attach(*this);
}

/// The thread that makes the event happen: spawns a fiber that resumes the coroutine. Where there is no memory for a
/// fiber, the running fiber resumes it.
void coroutine_waiter::resume(listener& l) noexcept {
  auto& me = static_cast<coroutine_waiter&>(l);
  const auto coroutine = me.coroutine_;
  auto* const scope = me.scope_;
  const auto go_on = [coroutine, scope] {
    sched::this_fiber::set_scope(scope);
    coroutine.resume();
  };
  try {
    // go_on is two pointers, which std::function holds without an allocation. A fiber without a stack is enough:
    // another co_await needs none, and a call that parks the fiber throws into the coroutine why it has none.
    me.runtime_->spawn(go_on, {.even_without_stack = true}, std::source_location());  // no line of the program
  } catch (...) {
    if (!sched::this_fiber::inside()) std::terminate();
    auto* const own_scope = sched::this_fiber::scope();
    go_on();
    sched::this_fiber::set_scope(own_scope);
  }
}

finish_scope& must_have_finish(call_site call) {
  auto* const scope = finish_scope::innermost();
  if (scope == nullptr)
    throw usage_error(error_number(201), std::string(call.name()) + ": called outside of any finish" + call.place(),
                      call.where());
  return *scope;
}

}  // namespace detail
}  // namespace task
}  // namespace v1
}  // namespace shunt
