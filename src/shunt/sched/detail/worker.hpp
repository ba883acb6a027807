/// One thread of a runtime: its loop, and the switches between its fibers. Its parts are classes of their own:
///
///   run_queues            what is ready here, and what runs next (a base class, as a yield needs it at a fixed offset)
///   starter               stacks: given to fibers that start, taken back from fibers that have ended
///   idle                  looking for work, spinning, sleeping
///   published, snapshot   what other threads read, and what they ask for
///   controlled            the loop's substitute while a strategy decides
///
/// Functions beside it: migration.hpp hands fibers over, jobs/detail/helpers.hpp runs forked jobs.
///
/// Every 64 switches the loop does its maintenance, though fibers are ready: it empties the inbox, polls, looks at the
/// clock, moves its oldest task among the unstarted fibers, and lets up to 16 tasks run first. A fiber that yields
/// while only tasks are ready lets up to 16 of them run first, too.
///
/// DESIGN.md says why a started fiber stays, why no worker sleeps on work, and how workers know that all has ended.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include <shunt/base/asymmetric_fence.hpp>
#include <shunt/base/call_site.hpp>
#include <shunt/context/switch.hpp>
#include <shunt/sched/detail/fiber.hpp>
#include <shunt/sched/detail/fiber_starter.hpp>
#include <shunt/sched/detail/idle.hpp>
#include <shunt/sched/detail/look_ahead.hpp>
#include <shunt/sched/detail/pollers.hpp>
#include <shunt/sched/detail/published.hpp>
#include <shunt/sched/detail/remote.hpp>
#include <shunt/sched/detail/run_queues.hpp>
#include <shunt/sched/detail/shared.hpp>
#include <shunt/sched/detail/steal_deque.hpp>
#include <shunt/sched/detail/timers.hpp>
#include <shunt/sched/explore/detail/controlled_scheduler.hpp>
#include <shunt/sched/jobs/jobs.hpp>
#include <shunt/sched/observe/detail/snapshot.hpp>
#include <shunt/sched/runtime.hpp>

namespace shunt {
inline namespace v1 {
namespace sched {
namespace detail {

/// Throws "call: called outside what" and what to do. \throws usage_error
[[noreturn, gnu::cold, gnu::noinline]] void throw_outside(call_site call, const char* what);

class worker : public run_queues {
 public:
  worker(shared& of, int number);
  ~worker();
  worker(const worker&) = delete;
  worker& operator=(const worker&) = delete;

  /// Any thread. The calling thread's worker; nullptr for none. Never inlined, see context/exceptions.hpp.
  [[nodiscard, gnu::noinline]] static worker* current() noexcept;

  /// Becomes the calling thread's worker until every fiber of the runtime has ended.
  void work() noexcept;

  // For the running fiber of this worker. `call` is the function that the program called, for errors.

  void yield_slowly();  ///< what yield_quickly() left over
  void park(const char* what, call_site call, bool rests = false);
  bool park_until(timers::time deadline, const char* what, call_site call, bool rests = false);
  /// While a strategy decides: like a yield, but the fiber is the first in line.
  void interleave() noexcept;
  /// \throws what park() would throw here and now.
  void require_wait(call_site call) {
    require_permission(call);
    must_be_fiber(call);
  }
  /// \throws why the running fiber has no stack of its own, if it has none.
  void require_stack() const {
    if (starter.without_stack() != nullptr) [[unlikely]]
      starter.without_stack()->refuse("require_stack");
  }
  /// Sets, or with nullptr clears, what refuses waits here. \return what did before.
  const no_wait* forbid_wait(const no_wait* by) noexcept;
  [[nodiscard]] bool waiting_forbidden() noexcept {
    if (forbid != nullptr && !forbid->in_force()) forbid_wait(nullptr);
    return forbid != nullptr;
  }
  /// \return whether a yield would let another fiber run.
  [[nodiscard]] bool has_runnable() const noexcept;

  // For this worker's thread.

  /// Makes `f` a task, which any worker may start. \throws std::bad_alloc
  void push_task(fiber* f);
  /// Switches to `f` until it yields, parks or ends; starts it before if it has not started. The loop only.
  void run(fiber* f) noexcept;
  /// Takes what lies in the inbox into the queues. \return whether anything lay there.
  bool drain() noexcept;
  /// Makes the fibers ready whose deadlines have passed. \return whether there are any.
  bool expire() noexcept;
  /// Everything outside of the queues that may make a fiber ready, once. \return whether anything moved.
  bool look_outside() noexcept;
  /// A round of an idle loop begins: nothing was ready.
  void begin_idle_round() noexcept;
  void look_at_clock() noexcept;

  // While run() does not run; or a fiber of this worker.

  /// \throws as runtime::attach().
  void attach(poller& one);
  /// The same, and keeps it.
  void attach(std::unique_ptr<poller> one);
  void detach(const poller& one) noexcept;

 private:
  static constexpr int switches_per_maintenance = 64;
  static constexpr int maintenances_per_loop = 8;  // while the loop would find nothing
  static constexpr int looks_per_clock = 16;       // each costs as much as some cache misses: the vdso is seldom cached
  static constexpr int lone_yield_cost = 8;        // in switches: a fiber that yields alone waits for something
  static constexpr int tasks_in_a_row = 16;

  static void fiber_main(void* self) noexcept;

  void require_permission(call_site call) {
    if (forbid != nullptr && waiting_forbidden()) [[unlikely]]
      forbid->refuse(call);
  }
  fiber* must_be_fiber(call_site call) const {
    fiber* const me = running();
    if (me == nullptr) [[unlikely]]
      throw_outside(call, "a fiber");
    return me;
  }
  bool go_on_without_loop(const fiber& me) noexcept;
  void leave(fiber* me, const char* what, bool rests) noexcept;
  void swap(context::execution& from, context::execution& to) noexcept;
  void go_on_with(fiber& me, fiber& next) noexcept;

  void loop() noexcept;
  void maintain() noexcept;
  void begin_round() noexcept;
  void look_whether_prefetching_pays() noexcept;

  int tasks_first_ = 0;  // so many tasks run before the ready fibers
  int until_maintenance_ = switches_per_maintenance;
  int until_clock_ = 0;  // so many idle rounds
  int until_loop_ = maintenances_per_loop;
  look_ahead ahead_;
  bool ended_here_ = false;  // the running fiber has just ended

 public:
  // Parts of this worker's thread, the hot ones first.
  detail::idle idle;

 private:
  context::execution loop_;

 public:
  // Any thread.
  detail::shared& all;
  const int index;
  // How jobs are fenced. While a strategy decides, jobs are pushed the slow way, by a call that interleaves.
  const bool asymmetric = asymmetric_fence::usable() && all.settings.strategy == nullptr;
  detail::remote& remote;

  // Parts of this worker's thread.
  const std::unique_ptr<controlled_scheduler> controlled;  // null: no strategy decides
  detail::pollers pollers;                                 // `outside` stands for all of them
  timers deadlines;
  fiber_starter starter;

  // Read by other threads.
  steal_deque<fiber> tasks;  // unstarted fibers that any worker may start; the newest first here, the oldest elsewhere
  job_deque jobs;
  detail::published published;
  detail::snapshot snapshot;
};

/// Any thread. The same as worker::current(), inlined. Good until the next switch, like here().
[[nodiscard, gnu::always_inline]] inline worker* current_worker() noexcept {
  worker_state& d = here();
  return &d == &no_worker ? nullptr : static_cast<worker*>(&d);
}

}  // namespace detail
}  // namespace sched
}  // namespace v1
}  // namespace shunt
