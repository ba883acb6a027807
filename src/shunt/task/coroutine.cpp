#include <shunt/task/coroutine.hpp>
#include <string>

namespace shunt {
inline namespace v1 {
namespace detail {

bool coroutine_waiter::await_suspend(std::coroutine_handle<> h) {
  where_ = &sched::this_worker::current();
  scope_ = sched::this_fiber::scope();
  who_ = h;
  return event_.attach(*this);  // true: it may run elsewhere already, and we touch nothing of it
}

void coroutine_waiter::wake(listener& l) noexcept {
  auto& me = static_cast<coroutine_waiter&>(l);
  const auto who = me.who_;
  auto* const scope = me.scope_;
  const auto go_on = [who, scope] {
    sched::this_fiber::set_scope(scope);
    who.resume();
  };
  try {
    // Two pointers: std::function holds them without an allocation. A fiber without a stack serves: another co_await
    // needs none, and what waits for the fiber throws why it has none, into the coroutine.
    me.where_->spawn(go_on, {.even_without_stack = true});
  } catch (...) {  // no memory for a fiber: then here, if this is one, or not at all
    if (!sched::this_fiber::inside()) std::terminate();
    const auto of_ours = sched::this_fiber::scope();
    go_on();
    sched::this_fiber::set_scope(of_ours);
  }
}

finish_scope& must_have_finish(const char* call) {
  auto* const scope = finish_scope::innermost();
  if (scope == nullptr) throw usage_error(std::string(call) + ": called outside of any finish");
  return *scope;
}

}  // namespace detail
}  // namespace v1
}  // namespace shunt
