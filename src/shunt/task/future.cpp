#include <shunt/task/future.hpp>

#include <string>
#include <thread>

#include <shunt/base/clock.hpp>

namespace shunt {
inline namespace v1 {
namespace detail {

void one_event::happen() noexcept {
  auto list = word_.load(std::memory_order_relaxed);  // a guess; the exchange below decides
  do {
    list = free_of_busy(list);
    SHUNT_ASSERT(list != done);
    // acq_rel: edge `happened` out, edge `listed` in.
  } while (!word_.compare_exchange_weak(list, done, std::memory_order_acq_rel, std::memory_order_relaxed));
  while (list != 0) {
    auto* const told = reinterpret_cast<listener*>(list);
    list = reinterpret_cast<std::uintptr_t>(told->next);
    told->tell(*told);
  }
}

bool one_event::attach(listener& l) noexcept {
  auto seen = word_.load(std::memory_order_acquire);
  do {
    seen = free_of_busy(seen);
    if (seen == done) return false;  // edge `happened` in, by a load or the failed exchange
    l.next = reinterpret_cast<listener*>(seen);
    // release: edge `listed` out. acquire on failure: edge `happened` in.
  } while (!word_.compare_exchange_weak(seen, reinterpret_cast<std::uintptr_t>(&l), std::memory_order_acq_rel,
                                        std::memory_order_acquire));
  return true;
}

bool one_event::detach(listener& l) noexcept {
  auto list = word_.load(std::memory_order_relaxed);  // a guess; the exchange below decides
  do {
    list = free_of_busy(list);
    if (list == done) return false;
    // acquire: edge `listed` in.
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

/// \return the word, once nobody reads the list.
std::uintptr_t one_event::free_of_busy(std::uintptr_t seen) const noexcept {
  for (int i = 0; (seen & busy) != 0; ++i) {
    if (i < 64) {
      relax();
    } else {
      std::this_thread::yield();  // who is busy may have lost its CPU
    }
    seen = word_.load(std::memory_order_acquire);  // edge `happened` in
  }
  return seen;
}

namespace {

/// A fiber that waits; on its stack. Less than a sched::sleeper: no thread waits here, and it may.
struct waiter : one_event::listener {
  waiter() noexcept : listener(&wake) {}
  static void wake(listener& l) noexcept {
    auto& me = static_cast<waiter&>(l);
    const auto who = me.who;
    me.told.store(true, std::memory_order_release);  // edge `happened`; the waiter is gone now
    who.wake();
  }
  [[nodiscard]] bool has_been_told() const noexcept {
    return told.load(std::memory_order_acquire);  // edge `happened` in
  }
  sched::waker who = sched::this_fiber::self();
  std::atomic<bool> told{false};
};

class watched_wait {
 public:
  watched_wait(one_event::watcher* who, const one_event& e, const char* call)
      : who_(who != nullptr && who->wait_begins(e, call) ? who : nullptr) {}
  ~watched_wait() {
    if (who_ != nullptr) who_->wait_ends();
  }
  watched_wait(const watched_wait&) = delete;
  watched_wait& operator=(const watched_wait&) = delete;

 private:
  one_event::watcher* const who_;
};

}  // namespace

void one_event::wait(const char* call) {
  sched::this_fiber::interleave();
  if (happened()) return;
  sched::this_fiber::require_wait(call);  // park() below cannot refuse, so the waiter never dangles
  const watched_wait watched(watcher_, *this, call);
  if (happened()) return;
  const sched::waits_for_end on(maker_, call);
  waiter me;
  if (!attach(me)) return;
  while (!me.has_been_told()) sched::this_fiber::park("a future");
}

bool one_event::wait_until(const char* call, std::chrono::steady_clock::time_point deadline,
                           const std::stop_token& stop) {
  sched::this_fiber::interleave();
  if (happened()) return true;
  sched::this_fiber::require_wait(call);  // as above
  waiter me;
  if (!attach(me)) return true;
  const auto leave = [&] {
    if (detach(me)) return false;
    while (!me.has_been_told()) sched::this_fiber::park("a future");  // it is being told
    return true;
  };
  const auto awaken = [who = me.who] { who.wake(); };
  const std::stop_callback on_stop(stop, awaken);
  try {
    while (!me.has_been_told()) {
      if (stop.stop_requested() || !sched::this_fiber::park_until(deadline, "a future")) return leave();
    }
  } catch (...) {  // no memory for the deadline
    leave();
    throw;
  }
  return true;
}

void throw_no_state(const char* call) {
  throw error(std::string(call) + ": has no shared result (default-made or moved from)");
}

void throw_satisfied() { throw error("promise: already satisfied"); }

std::exception_ptr broken() noexcept {
  return std::make_exception_ptr(broken_promise("future: its promise was destroyed before it was satisfied"));
}

}  // namespace detail
}  // namespace v1
}  // namespace shunt
