#include <shunt/task/future.hpp>

#include <string>
#include <thread>

#include <shunt/base/clock.hpp>
#include <shunt/sched/timed_wait.hpp>
#include <shunt/sched/waiter.hpp>

namespace shunt {
inline namespace v1 {
namespace task {
namespace detail {

/// Takes the whole list by the exchange that makes the event happen, then notifies its listeners one by one: it reads
/// the next one before, as a listener is gone once it is notified.
void one_event::happen() noexcept {
  auto list = word_.load(std::memory_order_relaxed);  // relaxed: a guess; the exchange below decides
  do {
    list = free_of_busy(list);
    SHUNT_ASSERT(list != done);
    // acq_rel: edge `happened` out, edge `listed` in.
  } while (!word_.compare_exchange_weak(list, done, std::memory_order_acq_rel, std::memory_order_relaxed));
  while (list != 0) {
    auto* const each = reinterpret_cast<listener*>(list);
    list = reinterpret_cast<std::uintptr_t>(each->next);
    each->notify(*each);
  }
}

bool one_event::attach(listener& l) noexcept {
  auto seen = word_.load(std::memory_order_acquire);  // edge `happened` in
  do {
    seen = free_of_busy(seen);
    if (seen == done) return false;
    l.next = reinterpret_cast<listener*>(seen);
    // acq_rel: edge `listed`; acquire on failure: edge `happened` in
  } while (!word_.compare_exchange_weak(seen, reinterpret_cast<std::uintptr_t>(&l), std::memory_order_acq_rel,
                                        std::memory_order_acquire));
  return true;
}

/// Marks the word busy, so that the list stays as it is, takes `l` out, and stores the list's new beginning.
bool one_event::detach(listener& l) noexcept {
  auto list = word_.load(std::memory_order_relaxed);  // relaxed: a guess; the exchange below decides
  do {
    list = free_of_busy(list);
    if (list == done) return false;
    // acquire: edge `listed` in; relaxed: a guess again
  } while (!word_.compare_exchange_weak(list, list | busy, std::memory_order_acquire, std::memory_order_relaxed));
  auto* first = reinterpret_cast<listener*>(list);
  for (listener** at = &first; *at != nullptr; at = &(*at)->next) {
    if (*at != &l) continue;
    *at = l.next;
    break;
  }
  word_.store(reinterpret_cast<std::uintptr_t>(first), std::memory_order_release);  // edge `listed` out
  return true;
}

/// Waits while detach() reads the list. \return the word after that.
std::uintptr_t one_event::free_of_busy(std::uintptr_t seen) const noexcept {
  for (int i = 0; (seen & busy) != 0; ++i) {
    if (i < 64) {
      relax();
    } else {
      std::this_thread::yield();  // the busy thread may have lost its CPU
    }
    seen = word_.load(std::memory_order_acquire);  // edge `happened` in
  }
  return seen;
}

namespace {

/// A thread that waits; on its stack. What a stop request wakes is apart from what the event wakes last: once `told` is
/// woken, the event uses this object no more.
struct blocked_thread : one_event::listener {
  blocked_thread() noexcept : listener(&wake) {}
  static void wake(listener& l) noexcept {
    auto& me = static_cast<blocked_thread&>(l);
    me.either.wake();
    me.told.wake();  // `me` is gone now
  }
  sched::waiter either, told;
};

/// Whether the caller blocks its thread where a fiber would park. A worker may not: all its fibers would wait.
bool is_plain_thread() noexcept { return !sched::this_fiber::inside() && sched::this_worker::index() < 0; }

bool block_until(one_event& e, call_site call, std::chrono::steady_clock::time_point deadline,
                 const std::stop_token& stop) {
  blocked_thread me;
  if (!e.attach(me)) return true;
  {
    const std::stop_callback on_stop(stop, [&me]() noexcept { me.either.wake(); });
    static_cast<void>(me.either.wait_until(deadline, "a future", call));
  }
  if (e.detach(me)) return false;
  me.told.wait("a future", call);
  return true;
}

/// A fiber that waits; on its stack. Less than a sched::waiter: no thread waits here, and the fiber may wait.
struct waiter : one_event::listener {
  waiter() noexcept : listener(&wake) {}
  static void wake(listener& l) noexcept {
    auto& me = static_cast<waiter&>(l);
    const auto fiber = me.fiber;
    me.notified.store(true, std::memory_order_release);  // edge `happened` out; `me` is gone now
    fiber.wake();
  }
  [[nodiscard]] bool has_been_notified() const noexcept {
    return notified.load(std::memory_order_acquire);  // edge `happened` in
  }
  void park_until_notified() const {
    while (!has_been_notified()) sched::this_fiber::park("a future");
  }
  const sched::waker fiber = sched::this_fiber::self();
  std::atomic<bool> notified{false};
};

class watched_wait {
 public:
  watched_wait(one_event::watcher* watcher, const one_event& e, call_site call)
      : watcher_(watcher != nullptr && watcher->wait_begins(e, call) ? watcher : nullptr) {}
  ~watched_wait() {
    if (watcher_ != nullptr) watcher_->wait_ends();
  }
  watched_wait(const watched_wait&) = delete;
  watched_wait& operator=(const watched_wait&) = delete;

 private:
  one_event::watcher* const watcher_;
};

}  // namespace

/// Everything that may throw comes before attach(): afterwards this frame must stay until the event happens.
void one_event::wait(call_site call) {
  sched::this_fiber::interleave();
  if (happened()) return;
  if (is_plain_thread()) {
    static_cast<void>(block_until(*this, call, std::chrono::steady_clock::time_point::max(), {}));
    return;
  }
  sched::this_fiber::require_wait(call);
  sched::this_fiber::lend_frame(call);
  const watched_wait watched(watcher_, *this, call);
  if (happened()) return;
  const sched::waits_for_end on(maker_, call);
  waiter me;
  if (!attach(me)) return;
  me.park_until_notified();
}

/// Where the wait ends before the event, detaches the listener; where happen() is notifying it already, waits for that.
bool one_event::wait_until(call_site call, std::chrono::steady_clock::time_point deadline,
                           const std::stop_token& stop) {
  sched::this_fiber::interleave();
  if (happened()) return true;
  if (is_plain_thread()) return block_until(*this, call, deadline, stop);
  sched::this_fiber::require_wait(call);
  sched::this_fiber::lend_frame(call);
  waiter me;
  if (!attach(me)) return true;
  const auto leave = [&] {
    if (detach(me)) return false;
    me.park_until_notified();
    return true;
  };
  try {
    const auto notified = [&me] { return me.has_been_notified(); };
    const auto end = sched::this_fiber::wait_until(notified, deadline, stop, "a future");
    return end == sched::wait_end::done || leave();
  } catch (...) {  // no memory for the deadline
    leave();
    throw;
  }
}

void throw_no_state(call_site call) {
  throw error(error_number(204),
              std::string(call.name()) + ": has no shared result (default-made or moved from)" + call.place(),
              call.where());
}

void throw_satisfied(call_site call) {
  throw error(error_number(205), "promise: already satisfied" + call.place(), call.where());
}

std::exception_ptr broken() noexcept {
  return std::make_exception_ptr(
      broken_promise(error_number(209), "future: its promise was destroyed before it was satisfied"));
}

}  // namespace detail
}  // namespace task
}  // namespace v1
}  // namespace shunt
