#include <shunt/actor/detail/handler_fibers.hpp>

#include <utility>

#include <shunt/actor/detail/actor_system.hpp>
#include <shunt/actor/detail/dispatcher.hpp>
#include <shunt/base/clock.hpp>
#include <shunt/base/topology.hpp>

namespace shunt {
inline namespace v1 {
namespace actor::detail {
namespace {

using std::chrono::steady_clock;

// Turns in a row without work after which a handler fiber rests. A fiber that has been answered often asks again in
// between; then the handler fiber need not be woken, which costs several times what such a turn does.
constexpr int turns_before_rest = 16;

// Looks at the inbox before everything rests: some 30 ns each. A rest costs the dispatcher a microsecond and more, and
// the others a wake, which takes up to 30 us across cores. A dispatcher that rested for a shorter time than the looks
// take looks longer the next time.
constexpr int looks_before_rest = 64;
constexpr int looks_after_short_rest = 640;
constexpr auto short_rest = std::chrono::microseconds(20);

}  // namespace

handler_fibers::handler_fibers(dispatcher& of, int dispatchers)
    : of_(of),
      looks_(looks_before_rest),
      may_spin_(dispatchers > 1 && static_cast<std::size_t>(dispatchers) <= usable_cpus().size()) {}

void handler_fibers::begin() noexcept {
  ++fibers_;
  try {
    of_.system().runtime().spawn([this] { run_wakeup_fiber(); },
                                 {.worker = of_.index(), .name = "actors' wakeup", .even_without_stack = true});
  } catch (...) {
    could_not_begin(std::current_exception());
  }
}

/// Instead of the wakeup fiber, which fibers_ has counted already.
void handler_fibers::could_not_begin(const std::exception_ptr& why) noexcept {
  --fibers_;
  dispatcher::leave_thread();
  of_.system().report_begun(why);
}

void handler_fibers::call() noexcept {
  ++ready_;
  if (idle_ == nullptr) return spawn_one();
  handler_fiber* const f = std::exchange(idle_, idle_->next_idle);
  --idle_count_;
  f->called = true;
  f->fiber.wake();
}

void handler_fibers::spawn_one() {
  ++fibers_;
  of_.system().runtime().spawn([this] { run_one(); }, {.worker = of_.index(),
                                                       .name = "actors",
                                                       .stack_bytes = of_.system().wanted().stack_bytes,
                                                       .even_without_stack = true});
}

/// A handler fiber: batches, with a yield between two of them; then a rest, until it is called again. It rests when it
/// found no work for some turns, or another handler fiber is ready as well. The last one to rest arms the inbox.
void handler_fibers::run_one() {
  handler_fiber me;
  me.fiber = sched::this_fiber::self();
  const current_handler_fiber here(me);
  if (!sched::this_fiber::may_wait()) [[unlikely]]
    return run_one_without_stack(me);
  for (;;) {
    for (int turns = 0;;) {
      begin_turn(me);
      turns = of_.work(me) ? 0 : turns + 1;
      const bool one_too_many = ready_ > 1;
      if (turns > 0 && (over_ || one_too_many || (turns > turns_before_rest && !look_around()))) break;
      ++ready_;
      sched::this_fiber::yield();
    }
    running_ = nullptr;
    of_.ready_.set_awake(ready_ != 0);
    if (over_) break;
    if (ready_ == 0 && !rest()) {
      ++ready_;
      continue;
    }
    if (idle_count_ >= most_idle) break;
    me.next_idle = std::exchange(idle_, &me);
    ++idle_count_;
    while (!me.called) sched::this_fiber::park("messages");
    me.called = false;
  }
  fiber_left();
}

/// Takes the place of the handler fiber that ran last: if that one is in a handler, the handler waits. Disarms the
/// inbox, and notes how long the rest was.
inline void handler_fibers::begin_turn(handler_fiber& me) noexcept {
  --ready_;
  if (running_ != nullptr && running_ != &me && running_->running != nullptr) running_->running->handler_waits();
  running_ = &me;
  auto& armed = of_.wakeup_.armed;
  if (armed.load(std::memory_order_relaxed)) {  // relaxed: this thread's; others only take a hint
    of_.inbox().disarm();
    armed.store(false, std::memory_order_relaxed);  // relaxed: a hint
    if (may_spin_) looks_ = steady_clock::now() - rested_ < short_rest ? looks_after_short_rest : looks_before_rest;
  }
}

/// No handler fiber runs or is ready: arms the inbox (handler_fibers.S2). \return false: something has arrived.
bool handler_fibers::rest() noexcept {
  if (!of_.arrivals_.stop_watching() || !of_.inbox().arm()) return false;
  of_.wakeup_.armed.store(true, std::memory_order_relaxed);  // relaxed: a hint
  of_.system().idle();
  if (may_spin_) rested_ = steady_clock::now();
  return true;
}

/// Where no other fiber is ready: looks at the inbox for a moment. \return whether something has arrived.
bool handler_fibers::look_around() noexcept {
  if (!may_spin_) return false;
  for (int i = 0; i < looks_ && !sched::this_worker::has_runnable(); ++i) {
    if (of_.inbox().any() || of_.arrivals_.any_in_rings()) return true;
    relax();
  }
  return false;
}

/// A handler fiber that got no stack: one batch, in which every call that would wait throws why. So messages whose
/// handlers do not wait are handled, and the others fail as handlers do that throw. Another handler fiber, which may
/// get a stack, goes on.
void handler_fibers::run_one_without_stack(handler_fiber& me) {
  begin_turn(me);
  of_.work(me);
  running_ = nullptr;
  of_.ready_.set_awake(ready_ != 0);
  if (!over_ && ready_ == 0 && !rest()) call();
  fiber_left();
}

/// Counts the caller as waiting for its turn, so that the handler fiber that answers it calls no other one; the caller
/// calls one if that handler waits (handler_fibers.S1).
void handler_fibers::let_run() {
  if (ready_ == 0) call();
  const sched::this_fiber::stay on_this_worker;
  struct counted {
    explicit counted(handler_fibers& in) noexcept : all(in) { ++all.waiting_for_turn_; }
    ~counted() {
      --all.waiting_for_turn_;
      if (all.running_ != nullptr && all.ready_ == 0) all.call();  // it waits in a handler
    }
    counted(const counted&) = delete;
    counted& operator=(const counted&) = delete;
    handler_fibers& all;
  } const me(*this);
  sched::this_fiber::yield();
}

void handler_fibers::run_wakeup_fiber() {
  try {
    sched::this_fiber::require_stack();
  } catch (...) {
    return could_not_begin(std::current_exception());
  }
  of_.wakeup_.fiber = sched::this_fiber::self();
  call();
  of_.system().dispatcher_begun();
  while (!over_) {
    sched::this_fiber::park("messages of others");
    wake();
  }
  fiber_left();
}

void handler_fibers::end() noexcept {
  over_ = true;
  while (idle_ != nullptr) call();
  wake();
  of_.wakeup_.fiber.wake();
}

void handler_fibers::fiber_left() noexcept {
  if (--fibers_ != 0 || !of_.has_begun()) return;
  dispatcher::leave_thread();
  of_.system().dispatcher_left();  // and with it, perhaps, the dispatcher
}

}  // namespace actor::detail
}  // namespace v1
}  // namespace shunt
