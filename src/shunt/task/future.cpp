#include <shunt/task/future.hpp>

#include <string>

namespace shunt {
inline namespace v1 {
namespace detail {

void one_event::happen() noexcept {
  // acq_rel: edge `happened` out; acquire: the waiters' nodes.
  auto list = word_.exchange(done, std::memory_order_acq_rel);
  SHUNT_ASSERT(list != done);
  while (list != 0) {
    auto* const node = reinterpret_cast<waiter*>(list);
    list = reinterpret_cast<std::uintptr_t>(node->next);
    const auto who = node->who;
    node->told.store(true, std::memory_order_release);  // edge `happened`; the node is gone now
    who.wake();
  }
}

void one_event::wait(const char* call) {
  if (happened()) return;
  sched::this_fiber::require_wait(call);  // park() below cannot refuse, so the node never dangles
  waiter me;
  me.who = sched::this_fiber::self();
  auto seen = word_.load(std::memory_order_acquire);
  do {
    if (seen == done) return;  // edge `happened` in, by this load or the failed exchange
    me.next = reinterpret_cast<waiter*>(seen);
    // release: my node, for happen(). acquire on failure: edge `happened` in.
  } while (!word_.compare_exchange_weak(seen, reinterpret_cast<std::uintptr_t>(&me),
                                        std::memory_order_acq_rel, std::memory_order_acquire));
  while (!me.told.load(std::memory_order_acquire)) sched::this_fiber::park();
}

void throw_no_state(const char* call) {
  throw error(std::string(call) + ": has no shared result (default-made or moved from)");
}

void throw_satisfied() { throw error("promise: already satisfied"); }

std::exception_ptr broken() noexcept {
  return std::make_exception_ptr(
      broken_promise("future: its promise was destroyed before it was satisfied"));
}

}  // namespace detail
}  // namespace v1
}  // namespace shunt
