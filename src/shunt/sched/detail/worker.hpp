/// One thread of a runtime: its queues, its loop, and the switches between its fibers.
///
/// What runs next, in this order: the fiber that the last one woke (at most 16 times in a row while
/// others are ready), newcomers (pinned here, not started yet; at most 64 in a row while others are
/// ready), ready fibers, those that migrate and the others by turns, each first come first served, own tasks newest
/// first, the poller's and others' wakes, other workers' tasks oldest first. A fiber that yields while none but tasks
/// is ready lets up to 16 of them go first. Every 64 switches the loop does its duty, whatever is
/// ready: it empties the inbox, polls, looks at the clock, moves its oldest task among the
/// newcomers, and lets up to 16 tasks go first.
///
/// See DESIGN.md for why a started fiber stays, why nobody sleeps on work, and how workers know
/// that all has ended.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <shunt/base/cache_line.hpp>
#include <shunt/context/exceptions.hpp>
#include <shunt/context/stack_pool.hpp>
#include <shunt/context/switch.hpp>
#include <shunt/sched/detail/census.hpp>
#include <shunt/sched/detail/crew.hpp>
#include <shunt/sched/detail/desk.hpp>
#include <shunt/sched/detail/director.hpp>
#include <shunt/sched/detail/fiber.hpp>
#include <shunt/sched/detail/look_ahead.hpp>
#include <shunt/sched/detail/pollers.hpp>
#include <shunt/sched/detail/steal_deque.hpp>
#include <shunt/sched/detail/timers.hpp>
#include <shunt/sched/jobs.hpp>
#include <shunt/sched/runtime.hpp>

namespace shunt {
inline namespace v1 {
namespace sched {
namespace detail {

/// "call: called outside what"
[[noreturn, gnu::cold, gnu::noinline]] void throw_outside(const char* call, const char* what);

class worker : public desk {
 public:
  worker(crew& all, int index);
  ~worker();
  worker(const worker&) = delete;
  worker& operator=(const worker&) = delete;

  /// The calling thread's; nullptr for none. Never inlined, see context/exceptions.hpp.
  [[nodiscard, gnu::noinline]] static worker* current() noexcept;

  /// Becomes the calling thread's worker until every fiber of the crew has ended.
  void work() noexcept;

  // This worker's running fiber.
  void yield_slowly();
  void park(const char* what, bool rests = false);
  /// \param call  what the program called, for errors
  bool park_until(timers::time deadline, const char* what, const char* call, bool rests = false);
  void require_wait(const char* call) {
    require_permission(call);
    must_be_fiber(call);
  }
  [[nodiscard]] bool has_runnable() const noexcept;
  const no_wait* forbid_wait(const no_wait* who) noexcept;
  [[nodiscard]] bool waiting_forbidden() noexcept {
    if (forbid != nullptr && !forbid->in_force()) forbid_wait(nullptr);
    return forbid != nullptr;
  }
  /// \throws why the running fiber has no stack of its own, if it has none.
  void require_stack() const {
    if (without_stack_ != nullptr) [[unlikely]]
      without_stack_->refuse("require_stack");
  }
  void require_permission(const char* call) {
    if (forbid != nullptr && waiting_forbidden()) [[unlikely]]
      forbid->refuse(call);
  }
  [[nodiscard]] job_deque& jobs() noexcept { return jobs_; }
  void interleave() noexcept;

  // This worker's thread.
  void ready_here(fiber* f) noexcept;  // woken: soon
  void newcomer(fiber* f) noexcept { newcomers_.push(f); }
  void ready_soon(fiber* f) noexcept { f->migrates ? roamers_.push(f) : ready.push(f); }
  [[nodiscard]] fiber* new_fiber() { return blocks_.take(); }
  void drop_fiber(fiber* f) noexcept;
  void push_task(fiber* f);
  void count_spawn() noexcept { spawned_.store(own(spawned_) + 1, std::memory_order_relaxed); }
  void uncount_spawn() noexcept { spawned_.store(own(spawned_) - 1, std::memory_order_relaxed); }

  // Any thread.
  [[nodiscard]] post& address() const noexcept { return *post_; }
  [[nodiscard]] int index() const noexcept { return index_; }
  [[nodiscard]] crew& all() const noexcept { return crew_; }
  [[nodiscard]] fiber* steal() noexcept { return tasks_.steal(); }
  [[nodiscard]] bool no_task() const noexcept { return tasks_.looks_empty(); }
  /// Edge `tally`, see crew::all_ended().
  [[nodiscard]] std::uint64_t ended() const noexcept { return ended_.load(std::memory_order_acquire); }
  [[nodiscard]] std::uint64_t spawned() const noexcept {
    return spawned_.load(std::memory_order_relaxed);  // relaxed: see crew::all_ended()
  }

  // For who looks at this worker from outside.
  [[nodiscard]] sheet& census() noexcept { return census_; }
  [[nodiscard]] long thread() const noexcept { return thread_.load(std::memory_order_relaxed); }  // relaxed: a number
  /// Odd while a fiber runs; another number each time that the loop goes to one or comes back.
  [[nodiscard]] std::uint64_t beat() const noexcept {
    return beat_.load(std::memory_order_relaxed);  // relaxed: a look
  }
  /// It sleeps, or works for no run: there is no fiber that could keep it. Edge `up`, see doze_if_all_sleep().
  [[nodiscard]] bool sleeps() const noexcept { return sleeps_.load(std::memory_order_seq_cst); }
  /// This worker's thread. Fills in the sheet if somebody waits for it.
  void answer_census() noexcept;
  /// In a signal handler on it, which has interrupted what ran at that stack pointer.
  void answer_census(std::uintptr_t interrupted) noexcept;

  /// Null: no chooser decides.
  [[nodiscard]] const director* directed() const noexcept { return directed_.get(); }

  // While no run() runs, or a fiber of this worker.
  /// \throws as runtime::attach().
  void add(poller& one);
  /// The same, and keeps it.
  void add(std::unique_ptr<poller> one);

  // While no run() runs.
  void remove(const poller& one) noexcept {
    pollers_.remove(one);
    look_at_pollers();
  }
  void drop_unstarted() noexcept;

 private:
  static constexpr int switches_a_duty = 64;
  static constexpr int duties_a_loop = 8;    // while the loop would find nothing
  static constexpr int looks_a_clock = 16;   // each costs as much as some misses of the cache: the vdso is seldom near
  static constexpr int lone_yield_cost = 8;  // in switches: a lone yielder waits for something
  static constexpr int favours_in_a_row = 16;
  static constexpr int tasks_a_turn = 16;
  static constexpr int newcomers_in_a_row = 64;
  static constexpr std::size_t most_handed_over = 32;  // at a time, of half of those that are ready
  // Tops of stacks lie whole pages apart, so their lines would share few sets of the caches.
  static constexpr unsigned colours = 32;
  // An idle worker gives the memory of idle stacks back in steps: some 64, then it sleeps on.
  static constexpr std::chrono::nanoseconds between_trims{10'000'000};
  static constexpr int idle_yields = 8;  // sched_yields before sleeping, if oversubscribed

  static std::uint64_t own(const std::atomic<std::uint64_t>& counter) noexcept {
    return counter.load(std::memory_order_relaxed);  // relaxed: only this thread stores it
  }
  static void fiber_main(void* self) noexcept;

  void loop() noexcept;
  void duty() noexcept;
  void look_whether_asking_pays() noexcept;
  bool look_around() noexcept;
  bool spin() noexcept;
  void sleep() noexcept;
  bool drain() noexcept;
  bool expire() noexcept;
  bool steal_one() noexcept;
  void hand_over() noexcept;
  void look_at_pollers() noexcept {
    outside = pollers_.together();
    mark = pollers_.mark();
  }
  [[nodiscard]] fiber* pick() noexcept;
  void run(fiber* f) noexcept;
  bool start(fiber* f) noexcept;
  void run_without_stack(fiber* f, const std::exception_ptr& why) noexcept;

  // Jobs; in worker_jobs.cpp.
  bool help() noexcept;
  bool help_soon() noexcept;
  bool ask_for_jobs() noexcept;
  [[nodiscard]] fiber* new_helper() noexcept;
  void run_jobs() noexcept;
  [[nodiscard]] job* steal_job() noexcept;
  // While a chooser decides; in worker_directed.cpp.
  void loop_directed() noexcept;
  void gather() noexcept;
  [[nodiscard]] fiber* choose() noexcept;
  [[nodiscard]] std::string why_stuck();

  /// Edge `up`.
  void wakes_up() noexcept;
  void finish(fiber* f) noexcept;
  bool go_on_without_loop(const fiber& me) noexcept;
  void leave(fiber* me, const char* what, bool rests) noexcept;
  void look_at_clock() noexcept;
  void fill_census(bool stacks) noexcept;
  [[nodiscard]] bool rests_for_ever() const noexcept { return outside == nullptr && timers_.empty(); }
  void swap(context::execution& from, context::execution& to) noexcept;
  void go_on_with(fiber& me, fiber& next) noexcept;
  fiber* must_be_fiber(const char* call) const {
    fiber* const me = running();
    if (me == nullptr) [[unlikely]]
      throw_outside(call, "a fiber");
    return me;
  }

  fiber_list newcomers_;  // unstarted, to run here
  fiber_list roamers_;  // started, ready, and may go on elsewhere; apart, for each of their switches leads by the loop
  bool roamers_turn_ = false;
  int newcomers_first_ = newcomers_in_a_row;  // so many more go before the ready ones
  int until_duty_ = switches_a_duty;
  int until_clock_ = 0;  // so many looks around
  int until_loop_ = duties_a_loop;
  look_ahead ahead_;
  int favours_ = 0;
  bool rests_ = false;       // who left last expects nothing soon: see this_fiber::rest_until()
  int tasks_first_ = 0;      // so many tasks go before the ready fibers
  bool ended_here_ = false;  // the running fiber has just ended
  std::size_t started_here_ = 0;
  unsigned colour_ = 0;  // of the last stack

  context::execution loop_;
  crew& crew_;
  const int index_;
  // The jobs' fences. While a chooser decides jobs are pushed the slow way, by a call that is a point.
  const bool asymmetric_ = asymmetric_fence::usable() && crew_.settings.decides == nullptr;
  post* const post_;
  const std::unique_ptr<director> directed_;  // null: nobody decides but this worker
  pollers pollers_;                           // `outside` is all of them
  std::vector<std::unique_ptr<poller>> kept_;
  timers timers_;
  std::uint32_t now_ms_ = 0;  // as of the last look outside; wraps after 49 days
  context::stack_pool stacks_;
  fiber_cache blocks_;
  std::uint64_t victim_ = 0;  // where the next round of stealing begins
  // Cold: behind all that switches touch.
  const no_wait* without_stack_ = nullptr;  // forbids waits while a fiber runs on the loop's stack: run_without_stack()
  std::uint64_t refusals_here_ = 0;         // fibers that got no stack

  // Read by others.
  steal_deque<fiber> tasks_;
  job_deque jobs_;
  alignas(quiet_distance) std::atomic<std::uint64_t> spawned_{0};  // by this thread
  std::atomic<std::uint64_t> ended_{0};                            // on this thread
  std::atomic<std::uint64_t> beat_{0};                             // see beat()
  std::atomic<long> thread_{0};                                    // the system's number of it; 0: it does not work
  std::atomic<bool> sleeps_{true};                                 // see sleeps()
  sheet census_;
};

}  // namespace detail
}  // namespace sched
}  // namespace v1
}  // namespace shunt
