#include <shunt/task/future.hpp>

#include <string>

namespace shunt {
inline namespace v1 {
namespace detail {

void one_event::happen() noexcept {
  // acq_rel: edge `happened` out; acquire: the listeners.
  auto list = word_.exchange(done, std::memory_order_acq_rel);
  SHUNT_ASSERT(list != done);
  while (list != 0) {
    auto* const told = reinterpret_cast<listener*>(list);
    list = reinterpret_cast<std::uintptr_t>(told->next);
    told->tell(*told);
  }
}

bool one_event::attach(listener& l) noexcept {
  auto seen = word_.load(std::memory_order_acquire);
  do {
    if (seen == done) return false;  // edge `happened` in, by this load or the failed exchange
    l.next = reinterpret_cast<listener*>(seen);
    // release: the listener, for happen(). acquire on failure: edge `happened` in.
  } while (!word_.compare_exchange_weak(seen, reinterpret_cast<std::uintptr_t>(&l),
                                        std::memory_order_acq_rel, std::memory_order_acquire));
  return true;
}

namespace {

/// A fiber that waits; on its stack.
struct waiter : one_event::listener {
  waiter() noexcept : listener(&wake) {}
  static void wake(listener& l) noexcept {
    auto& me = static_cast<waiter&>(l);
    const auto who = me.who;
    me.told.store(true, std::memory_order_release);  // edge `happened`; the waiter is gone now
    who.wake();
  }
  sched::waker who = sched::this_fiber::self();
  std::atomic<bool> told{false};
};

}  // namespace

void one_event::wait(const char* call) {
  if (happened()) return;
  sched::this_fiber::require_wait(call);  // park() below cannot refuse, so the waiter never dangles
  waiter me;
  if (!attach(me)) return;
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
