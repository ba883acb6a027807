#include <shunt/templet/detail/loop.hpp>

#include <cstdint>
#include <exception>
#include <utility>

#include <shunt/base/clock.hpp>
#include <shunt/templet/detail/scheduler.hpp>
#include <shunt/templet/detail/virtual_time.hpp>

namespace shunt {
inline namespace v1 {
namespace templet {
namespace detail {

/// Handlers' sends find this slot at once. Not under a controlled scheduler: there a send has to ask it first.
void loop::set_quick_activation() noexcept {
  if (!sched::this_worker::controlled()) this_threads_quick_activation = this;
}

/// One activation: takes the messages that have arrived so far, and calls the handler with each. Counts the calls in a
/// local variable, as a handler's stores could alias a member.
[[gnu::always_inline]] inline void loop::activate(actor& a) noexcept {
  ++done_.activations;
  message* m = a.inbox_.begin();
  running = reinterpret_cast<std::uintptr_t>(&a);
  if (of->failed_.load(std::memory_order_relaxed) || a.recv == nullptr) [[unlikely]] {  // relaxed: sooner or later
    refuse(m, a);
  } else {
    std::uint64_t calls = 0;
    try {
      do {
        message& arrived = *m;
        m = arrived.next_;
        arrived.where_.store(reinterpret_cast<std::uintptr_t>(&a), std::memory_order_relaxed);  // relaxed: see access()
        ++calls;
        a.recv(arrived, a);
      } while (m != nullptr);
    } catch (...) {
      fail(m, a);
    }
    done_.messages += calls;
  }
  if (a.inbox_.finish() == after_push::queue_it) [[unlikely]]
    queue(a);
}

void loop::run() noexcept {
  fiber_ = sched::this_fiber::self();
  const int activations = sched::this_worker::controlled() ? 1 : activations_before_yield;
  if (!of->loop_begins()) return;
  if (of->virtual_ != nullptr) return run_in_virtual_time(*of->virtual_);
  set_quick_activation();
  bool yield_first = sched::this_worker::controlled();
  while (actor* a = search(yield_first)) {
    int left = activations;
    do {
      activate(*a);
    } while (--left != 0 && ready_.pop(a));
    yield_first = left == 0;
  }
  if (this_threads_quick_activation == this) this_threads_quick_activation = &no_activation;
}

/// The clock has all messages that have been sent, and says which handler begins next. No slot is the thread's quick
/// activation, so that each send goes through scheduler::send_slowly(), which tells the clock.
void loop::run_in_virtual_time(virtual_time& clock) noexcept {
  do {
    for (;;) {
      running = no_actor;
      while (actor* const a = of->take_injected()) hand_over(*a, clock);
      for (actor* a = nullptr; ready_.pop(a);) hand_over(*a, clock);
      const auto [m, a] = clock.next();
      if (m == nullptr) break;
      handle(*m, *a, clock);
      clock.queue(*a);
    }
  } while (of->sleep(*this) == scheduler::after_sleep::look_again);
}

/// What has arrived goes to the clock, and the actor's inbox is free for more.
void loop::hand_over(actor& a, virtual_time& clock) noexcept {
  ++done_.activations;
  for (message* m = a.inbox_.begin(); m != nullptr;)
    clock.arrived(*std::exchange(m, std::exchange(m->next_, nullptr)), a);
  if (a.inbox_.finish() == after_push::queue_it) queue(a);
}

void loop::handle(message& m, actor& a, virtual_time& clock) noexcept {
  running = reinterpret_cast<std::uintptr_t>(&a);
  if (of->failed_.load(std::memory_order_relaxed) || a.recv == nullptr) return refuse(&m, a);  // relaxed: as activate()
  m.where_.store(reinterpret_cast<std::uintptr_t>(&a), std::memory_order_relaxed);             // relaxed: see access()
  ++done_.messages;
  try {
    clock.begins(m, a);
    a.recv(m, a);
    clock.ends(a);
  } catch (...) {
    fail(nullptr, a);
  }
}

/// `a` has no handler, or the run has failed.
void loop::refuse(message* m, actor& a) noexcept {
  if (a.recv == nullptr) {
    of->fail(std::make_exception_ptr(
        usage_error(error_number(605), "run: " + name_of(a) + " has got a message, and has no handler")));
  }
  deliver_without_call(m, a);
}

/// In the catch block: a handler of `a` threw.
void loop::fail(message* m, actor& a) noexcept {
  of->fail(std::current_exception());
  deliver_without_call(m, a);
}

/// After a failure: the actor has the messages that are left, without a call.
void loop::deliver_without_call(message* m, actor& a) noexcept {
  for (; m != nullptr; m = m->next_) {
    m->where_.store(reinterpret_cast<std::uintptr_t>(&a), std::memory_order_relaxed);  // relaxed: see access()
  }
}

/// Finds an actor to run: yields if it is time to, looks into the own queue, then into those of others, then sleeps.
/// \param yield_first  whether other fibers of this worker run first. \return nullptr when the run is over.
actor* loop::search(bool yield_first) noexcept {
  running = no_actor;
  if (yield_first) {
    sched::this_fiber::yield();
    if (sched::this_worker::controlled()) shuffle();
    if (actor* const a = of->take_injected()) return a;
    if (actor* const a = ready_.pop()) return a;
  }
  do {
    for (int i = 0; i < looks_before_sleep; ++i) {
      if (actor* const a = steal()) return a;
      if (seen_.size() == 1) break;
      pause();
    }
  } while (of->sleep(*this) == scheduler::after_sleep::look_again);
  return nullptr;
}

/// Under a controlled scheduler any of the queued actors may come next: it chooses how many go to the back.
void loop::shuffle() noexcept {
  constexpr int most = 64;
  for (int i = 0; i < most; ++i) {
    if (actor* const a = of->take_injected()) queue(*a);
  }
  for (auto passed = sched::this_worker::choose(ready_.look().items); passed > 0; --passed) queue(*ready_.pop());
}

/// Between two looks: other fibers of this worker run.
void loop::pause() noexcept {
  relax();
  sched::this_fiber::yield();
}

/// Looks once at the injected actors and at every other queue. \return the actor to run; nullptr if none was found.
actor* loop::steal() noexcept {
  if (actor* const a = of->take_injected()) return a;
  const auto slots = seen_.size();
  for (std::size_t i = 1; i < slots; ++i) {
    const auto which = (index_ + i) % slots;
    loop& victim = *of->loops_[which];
    const auto now = victim.ready_.look();
    if (now.items == 0) continue;
    if (now.items == 1) {
      // Its worker will run it next, while its messages are in cache, unless that worker is busy for long.
      lone_actor& before = seen_[which];
      if (before.front != now.front) before = {now.front, 0};
      if (++before.looks < looks_at_a_lone_actor) continue;
    }
    if (actor* const a = victim.ready_.steal_half(ready_)) {
      ++done_.thefts;
      return a;
    }
  }
  return nullptr;
}

}  // namespace detail
}  // namespace templet
}  // namespace v1
}  // namespace shunt
