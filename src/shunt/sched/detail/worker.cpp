#include <shunt/sched/detail/worker.hpp>

#include <algorithm>
#include <chrono>
#include <exception>
#include <string>
#include <utility>

#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <shunt/base/clock.hpp>
#include <shunt/base/error.hpp>
#include <shunt/sched/detail/arrivals.hpp>
#include <shunt/sched/detail/migration.hpp>
#include <shunt/sched/jobs/detail/helpers.hpp>
#include <shunt/sched/observe/detail/overflow.hpp>

namespace shunt {
inline namespace v1 {
namespace sched {
namespace detail {

constinit worker_state no_worker;
[[gnu::used]] constinit thread_local worker_state* this_threads_state = &no_worker;

worker* worker::current() noexcept { return current_worker(); }

worker_state* here_by_call() noexcept { return this_threads_state; }

worker::worker(shared& of, int number)
    : idle(number),
      all(of),
      index(number),
      remote(*take_remote()),
      controlled(of.settings.strategy == nullptr ? nullptr
                                                 : std::make_unique<controlled_scheduler>(*of.settings.strategy)),
      jobs(*this, ready) {
  remote.worker = number;
}

worker::~worker() {
  remote.parker.sleep_on(nullptr);  // its next owner
  give_remote(&remote);
}

void worker::attach(poller& one) {
  if (one.descriptor() >= 0) {
    if (pollers.descriptor() >= 0) {
      throw usage_error(error_number(107), "attach: worker " + std::to_string(index) +
                                               " sleeps on another poller's descriptor; detach that one first");
    }
    remote.parker.need_wake_fd();
  }
  pollers.add(one);
  pollers.show_in(*this);
  if (auto* const token = one.shared_token()) remote.parker.sleep_on(token);
}

void worker::attach(std::unique_ptr<poller> one) {
  pollers.reserve_kept();
  attach(*one);
  pollers.keep(std::move(one));
}

void worker::detach(const poller& one) noexcept {
  pollers.remove(one);
  pollers.show_in(*this);
}

// --- the running fiber's side ---

void throw_outside(call_site call, const char* what) {
  throw usage_error(error_number(101),
                    std::string(call.name()) + ": called outside " + what +
                        ": call it in what shunt::launch() or runtime::run() runs, or in a fiber" + call.place(),
                    call.where());
}

/// Switches. What the C++ runtime knows of this execution's exceptions stays with it.
[[gnu::always_inline]] inline void worker::swap(context::execution& from, context::execution& to) noexcept {
  if (!exceptions->any()) [[likely]] {
    context::switch_to(from, to);
    return;
  }
  const auto kept = std::exchange(*exceptions, context::exception_state{});
  context::switch_to(from, to);
  *here().exceptions = kept;  // of the thread that it is on now
}

/// The budget is spent, so the loop should run. If the loop would find nothing to do but to switch back, some more
/// switches are granted instead; after several such grants it runs all the same, and looks at the clock. \return
/// whether they are granted.
[[gnu::always_inline]] inline bool worker::go_on_without_loop(const fiber& me) noexcept {
  if (budget > 0 || outside != nullptr || !deadlines.empty() || remote.inbox.has_anything() || !tasks.looks_empty() ||
      loop_has_others() || me.through_loop || controlled != nullptr || ready.empty() || !jobs.runs_dry() ||
      snapshot.wanted() || --until_loop_ <= 0) {
    return false;
  }
  budget = switches_per_maintenance + 1;
  published.skip_loop();
  return true;
}

/// Switches straight from one fiber to the other.
[[gnu::always_inline]] inline void worker::go_on_with(fiber& me, fiber& next) noexcept {
  ready.set_running(&next);
  if (run_next == nullptr) ready.take_slot();
  swap(me.run, next.run);
}

/// Tries the ways in the order of their cost: straight to the next ready fiber; return, if this fiber is alone;
/// straight to the fiber that was woken last; the loop.
void worker::yield_slowly() {
  const bool forbade = forbid != nullptr;
  require_permission("yield");  // the loop's poller may forbid it too
  fiber* const me = must_be_fiber("yield");
  const bool granted = go_on_without_loop(*me);
  if ((forbade || granted) && yield_quickly(*this)) return;  // that was all that it needed the slow path for
  ready.close();
  if (run_next == nullptr && !ready.empty() && --budget > 0) {
    ready.push(me);
    go_on_with(*me, *ready.pop());
    return;
  }
  if (!has_runnable()) {
    budget -= lone_yield_cost;
    if (budget > 0) return;
  }
  if (run_next != nullptr && --budget > 0 && may_run_next()) {
    ready.push(me);
    go_on_with(*me, *std::exchange(run_next, nullptr));
    return;
  }
  if (!has_ready()) {
    tasks_first_ = tasks_in_a_row;
    if (remote.inbox.has_nodes()) until_maintenance_ = 0;  // what has come from elsewhere need not wait for its turn
  }
  push_ready(me);
  ready.set_running(nullptr);
  swap(me->run, loop_);
}

void worker::interleave() noexcept {
  if (controlled == nullptr || !in_fiber() || waiting_forbidden()) return;
  fiber* const me = running();
  controlled->stopped = me;
  ready.set_running(nullptr);
  swap(me->run, loop_);
}

/// The fiber has parked: switches straight to the next started fiber, or to the loop.
[[gnu::always_inline]] inline void worker::leave(fiber* me, const char* what, bool rests) noexcept {
  idle.last_fiber_rests = rests;
  me->waits_for = what;
  me->since = now_ms;
  ready.leave_slot();
  if (--budget > 0 || go_on_without_loop(*me)) {
    fiber* next = run_next;
    if (next != nullptr && may_run_next_or_alone()) {
      run_next = nullptr;
    } else if (next == nullptr && !ready.empty()) {
      next = ready.pop_after_park();
      run_next_streak = 0;
    } else {
      next = nullptr;
    }
    if (next != nullptr) {
      go_on_with(*me, *next);
      return;
    }
  }
  ready.set_running(nullptr);
  swap(me->run, loop_);
}

[[gnu::always_inline]] inline void worker::park(const char* what, call_site call, bool rests) {
  require_permission(call);
  fiber* const me = must_be_fiber(call);
  if (controlled != nullptr) [[unlikely]]
    interleave();
  if (me->commit_park() == after_park::run_again) return;
  leave(me, what, rests);
}

/// The deadline enters the heap after the commit and before the switch: this thread is the only one that looks there.
bool worker::park_until(timers::time deadline, const char* what, call_site call, bool rests) {
  require_permission(call);
  fiber* const me = must_be_fiber(call);
  if (deadline == timers::time::max()) {
    park(what, call, rests);
    return true;
  }
  if (controlled != nullptr) [[unlikely]]
    interleave();
  deadlines.reserve();
  if (me->commit_park() == after_park::run_again) return true;
  deadlines.add(*me, deadline);
  me->timed_out = false;
  leave(me, what, rests);
  if (me->timer != fiber::no_timer) deadlines.remove(*me);
  return !me->timed_out;
}

const no_wait* worker::forbid_wait(const no_wait* by) noexcept {
  if (by == nullptr) by = starter.without_stack();  // which stands as long as its fiber runs
  if (const fiber* const me = running()) {
    // Where waiting is forbidden no job is pushed: a stolen one would have to be waited for.
    job_deque::set_here(by == nullptr && asymmetric && !me->through_loop ? &jobs : nullptr);
  }
  const no_wait* const before = forbid;
  set_forbid(by);
  return before;
}

bool worker::has_runnable() const noexcept {
  return has_ready() || !tasks.looks_empty() || remote.inbox.has_nodes() ||
         (controlled != nullptr && !controlled->ready.empty());
}

/// The outermost frame of every fiber. An exception that leaves the body fails the run; what the fiber owns goes here,
/// on its own stack; the loop does the rest.
void worker::fiber_main(void* self) noexcept {
  auto* const me = static_cast<fiber*>(self);
  try {
    me->body();
    me->body = nullptr;  // here, so that the destructors of its captures still run in the fiber
  } catch (...) {
    current()->all.fail(std::current_exception());
  }
  if (me->locals != nullptr) end_locals(*me);
  worker* const w = current();
  w->set_forbid(nullptr);
  w->ended_here_ = true;
  context::finish_to(me->run, w->loop_);
}

// --- the loop's side ---

namespace {
long number_of_this_thread() noexcept {
#if defined(SYS_gettid)
  return syscall(SYS_gettid);
#else
  return 0;  // then no signal can be sent to it
#endif
}
}  // namespace

void worker::push_task(fiber* f) {
  tasks.push(f);
  all.offer_task();
}

/// Makes the thread this worker's: its number, its thread_local state, its exceptions. Takes all of that back at the
/// end.
void worker::work() noexcept {
  const signal_stack for_faults;
  look_at_clock();
  published.set_thread(number_of_this_thread());
  this_threads_state = this;
  set_exceptions(&context::exceptions_of_this_thread());
  const auto of_caller = std::exchange(*exceptions, context::exception_state{});
  context::adopt_thread(loop_);
  idle::wake_up(*this);
  controlled == nullptr ? loop() : controlled->loop(*this);
  published.fall_asleep();
  published.set_thread(0);
  *exceptions = of_caller;
  set_exceptions(&no_exceptions);
  this_threads_state = &no_worker;
}

/// Runs what is ready, in the order of run_queues.hpp; then own tasks; then looks for work elsewhere; then sleeps.
void worker::loop() noexcept {
  for (;;) {
    if (until_maintenance_ <= 0) maintain();
    if (tasks_first_ > 0) {
      --tasks_first_;
      if (fiber* const task = tasks.take()) {
        run(task);
        continue;
      }
      tasks_first_ = 0;
    }
    if (!migratable.empty()) hand_over(*this);
    if (fiber* const f = pick()) {
      run(f);
    } else if (fiber* const task = tasks.take()) {
      run(task);
    } else if (!idle.find_work(*this) && !idle.spin(*this)) {
      if (all.stopping()) return;
      if (all.all_ended()) {
        all.stop();
        return;
      }
      idle.sleep(*this);
    }
  }
}

void worker::begin_round() noexcept {
  until_maintenance_ = switches_per_maintenance;
  until_loop_ = maintenances_per_loop;
}

void worker::begin_idle_round() noexcept {
  ahead_.forget_begin();
  begin_round();
  if (--until_clock_ <= 0) look_at_clock();
}

/// After a stretch of switches that the loop had no part in.
void worker::look_whether_prefetching_pays() noexcept {
  if (!context::places_suffice || ready.size() < look_ahead::few) {
    prefetches = false;
    ahead_.forget_begin();
  } else {
    const int maintenances = 1 + maintenances_per_loop - std::max(until_loop_, 1);
    prefetches = ahead_.after(maintenances * switches_per_maintenance, std::chrono::steady_clock::now());
  }
}

/// What the loop does every 64 switches, though fibers are ready.
void worker::maintain() noexcept {
  look_whether_prefetching_pays();
  begin_round();
  look_at_clock();
  const bool alone = at_most_one_ready();
  bool moved = look_outside();
  if (fiber* const oldest = tasks.steal()) {
    unstarted.push(oldest);
    tasks_first_ = tasks_in_a_row;
    moved = true;
  }
  moved |= helpers::start_soon(*this);
  // The only fiber yields in a loop: it waits for another thread, which may need this CPU.
  if (alone && !moved && all.oversubscribed) sched_yield();
}

/// The inbox before the pollers: drain() swallows an unpark(), which promises a poll after it.
bool worker::look_outside() noexcept {
  if (snapshot.wanted()) [[unlikely]]
    answer_snapshot(*this);
  bool moved = drain();
  if (outside != nullptr) moved |= outside->poll();
  moved |= expire();
  return moved;
}

/// Grants the fiber, and those that it switches to, switches until the next maintenance. When the loop is back,
/// whichever fiber ran last may have ended.
void worker::run(fiber* f) noexcept {
  --until_maintenance_;
  if (!f->started && !starter.start(*this, f, &fiber_main)) return;
  // Each switch leads through the loop while there are unstarted fibers, or fibers that other workers may take, or
  // while a strategy decides.
  const bool free_to_switch = !loop_has_others() && !f->through_loop && controlled == nullptr;
  const int granted = free_to_switch ? until_maintenance_ + 1 : 1;
  budget = granted;
  ready.set_running(f);
  if (free_to_switch && run_next == nullptr) ready.take_slot();
  job_deque::set_here(asymmetric && !f->through_loop ? &jobs : nullptr);
  published.enter_fiber();
  if (f->compact) [[unlikely]]
    compact_stacks::bring_in(*f);
  context::switch_to(loop_, f->run);  // the loop has no exception in flight
  published.leave_fiber();
  ready.leave_slot();
  job_deque::set_here(nullptr);
  until_maintenance_ -= granted - std::exchange(budget, 0);
  if (ended_here_) {
    ended_here_ = false;
    fiber* const ended = running();
    ready.set_running(nullptr);
    starter.finish(*this, ended);
  } else if (f->compact) [[unlikely]] {
    compact_stacks::has_stopped(*f);  // it ran alone: none of its switches leads to another fiber
  }
}

/// A fiber whose wake came before its deadline was seen stays woken: the exchange of its state word decides.
bool worker::expire() noexcept {
  if (deadlines.empty()) return false;
  bool moved = false;
  for (const auto now = sched::now(); !deadlines.empty() && deadlines.first() <= now;) {
    fiber* const f = deadlines.first_fiber();
    deadlines.remove(*f);
    if (f->expire() == after_wake::nothing) continue;  // woken already, and in a queue
    f->timed_out = true;
    push_ready(f);
    moved = true;
  }
  return moved;
}

/// Puts each fiber that was sent here into its queue, and does each wake.
bool worker::drain() noexcept {
  if (!remote.inbox.has_anything()) return false;
  auto items = remote.inbox.drain();
  if (items.empty()) return false;
  bool any_task = false;
  while (!items.empty()) {
    if (items.is_wake()) {
      wake_posted(*this, *items.pop());
    } else {
      any_task |= take_in(*this, *items.pop());
    }
  }
  if (any_task) all.offer_task();
  return true;
}

void worker::look_at_clock() noexcept {
  until_clock_ = looks_per_clock;
  if (controlled != nullptr) [[unlikely]] {
    now_ms = static_cast<std::uint32_t>(controlled->now.time_since_epoch() / std::chrono::milliseconds(1));
    return;
  }
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  now_ms = static_cast<std::uint32_t>(now.tv_sec) * 1000U + static_cast<std::uint32_t>(now.tv_nsec / 1'000'000);
}

void yield_slowly() {
  worker* const here = worker::current();
  if (here == nullptr) [[unlikely]]
    throw_outside("yield", "a runtime");
  here->yield_slowly();
}

void park_slowly(const char* what) {
  worker* const here = current_worker();
  if (here == nullptr) [[unlikely]]
    throw_outside("park", "a runtime");
  here->park(what, "park");
}

}  // namespace detail

// Here, so that the compiler sees through worker::park().

namespace this_fiber {

namespace {

/// \param call  the function that the program called
bool park_until_for(call_site call, std::chrono::steady_clock::time_point deadline, const char* what, bool rests) {
  detail::worker* const here = detail::worker::current();
  if (here == nullptr) [[unlikely]]
    detail::throw_outside(call, "a runtime");
  return here->park_until(deadline, what, call, rests);
}

void sleep_for_call(call_site call, std::chrono::steady_clock::time_point deadline) {
  do {
    static_cast<void>(park_until_for(call, deadline, "a time", false));
  } while (now() < deadline);
}

}  // namespace

bool park_until(std::chrono::steady_clock::time_point deadline, const char* what) {
  return park_until_for("park_until", deadline, what, false);
}

bool rest_until(std::chrono::steady_clock::time_point deadline, const char* what) {
  return park_until_for("rest_until", deadline, what, true);
}

void sleep_until(std::chrono::steady_clock::time_point deadline, std::source_location where) {
  sleep_for_call({"sleep_until", where}, deadline);
}

void sleep_for(std::chrono::nanoseconds time, std::source_location where) {
  sleep_for_call({"sleep_for", where}, after(time));
}

}  // namespace this_fiber
}  // namespace sched
}  // namespace v1
}  // namespace shunt
