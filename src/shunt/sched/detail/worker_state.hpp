/// What a yield needs of a worker, on one cache line, and what waits look at, on the next. It is in a header so that a
/// yield, or a park after a wake, is a few instructions in the fiber's own code, and saves only the registers that are
/// live there (context/switch.hpp).
///
/// The calling thread's state is found through a thread_local by instructions of ours. Compilers keep the address of a
/// thread_local across a switch, and a fiber that migrates continues on another thread (DESIGN.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include <shunt/base/cache_line.hpp>
#include <shunt/base/error.hpp>
#include <shunt/base/thread_pointer.hpp>
#include <shunt/context/exceptions.hpp>
#include <shunt/context/switch.hpp>
#include <shunt/sched/detail/fiber.hpp>
#include <shunt/sched/detail/ready_ring.hpp>

namespace shunt {
inline namespace v1 {
namespace sched {

class no_wait;
class poller;

namespace detail {

struct alignas(cache_line) worker_state {
  // What a yield needs.
  const context::exception_state* slow_path = &no_exceptions;  // any(): a yield takes the slow path
  int budget = 0;                                              // switches until the loop must run; 0 while it does
  bool prefetches = false;                                     // look_ahead.hpp
  std::uint8_t run_next_streak = 0;                            // so many turns in a row went to run_next
  fiber* run_next = nullptr;                                   // woken by the running fiber; runs next
  const no_wait* forbid = nullptr;                             // see set_forbid()
  ready_ring ready;                                            // what a yield needs comes first; also: the running one

  context::exception_state* exceptions = &no_exceptions;
  poller* outside = nullptr;  // stands for all pollers of this worker; null: there is none
  std::uint32_t mark = 0;     // poller::mark()
  std::uint32_t now_ms = 0;   // as of the last look at the clock, in milliseconds; wraps after 49 days

  static constexpr int run_next_in_a_row = 16;  // while others are ready

  [[nodiscard]] fiber* running() const noexcept { return ready.running(); }  ///< null: the loop runs
  [[nodiscard]] bool in_fiber() const noexcept { return ready.has_running(); }

  /// A yield tests one pointer for both of its obstacles: a wait that is forbidden, and an exception in flight.
  void set_forbid(const no_wait* by) noexcept {
    forbid = by;
    slow_path = by == nullptr ? exceptions : &forbidden;
  }
  void set_exceptions(context::exception_state* of_thread) noexcept {
    exceptions = of_thread;
    set_forbid(forbid);
  }

  static inline constinit context::exception_state no_exceptions{};  // of threads that are no workers
  static inline constinit const context::exception_state forbidden{nullptr, 1};
};
static_assert(sizeof(void*) != 8 || sizeof(worker_state) == 2 * cache_line);
static_assert(sizeof(void*) != 8 ||
              offsetof(worker_state, ready) + ready_ring::running_at() < cache_line);  // all that a yield needs

/// The state of all threads that are no workers. Its ring is empty, so a yield there goes to yield_slowly().
extern constinit worker_state no_worker;
[[gnu::tls_model("initial-exec")]] extern constinit thread_local worker_state* this_threads_state asm(
    "shunt_sched_worker_state_v1");
[[nodiscard, gnu::noinline]] worker_state* here_by_call() noexcept;

/// Any thread. The calling thread's state; no_worker on threads that are no workers. Good until the next switch.
[[nodiscard, gnu::always_inline]] inline worker_state& here() noexcept {
  worker_state* found;
  SHUNT_READ_THREAD_POINTER(found, "shunt_sched_worker_state_v1", here_by_call);
  return *found;
}

/// Switches straight to the next ready fiber, if the running one has a slot (ready_ring.hpp, ready_ring.S3) and nothing
/// else has to be looked at. \return false: nothing has happened.
[[gnu::always_inline]] inline bool yield_quickly(worker_state& d) noexcept {
#if SHUNT_PLACES_SUFFICE
  slot* const current = d.ready.current();
  if (current == nullptr || d.slow_path->any()) [[unlikely]]
    return false;
  if (--d.budget <= 0) [[unlikely]]
    return false;
  slot* const next = d.ready.after(current);
  context::place* to = &next->at;
  void* sp = to->sp;
  if (sp == nullptr) [[unlikely]] {  // ready_ring.S1
    to = &next->occupant->run;
    sp = to->sp;
  }
  d.ready.advance_to(next);
  if (d.prefetches) [[unlikely]]
    d.ready.prefetch_ahead(next);
  context::switch_places(current->at, *to, sp);
  return true;
#else
  static_cast<void>(d);  // without places no fiber ever has a slot
  return false;
#endif
}

/// Parks the running fiber, and switches straight to the fiber that was woken last, if there is one and nothing else
/// has to be looked at. A fiber whose switches lead through the loop has a budget of one switch, and the loop has none.
/// \return false: nothing has happened.
[[gnu::always_inline]] inline bool park_quickly(worker_state& d, const char* what) noexcept {
#if SHUNT_PLACES_SUFFICE
  fiber* const next = d.run_next;
  if (next == nullptr || d.budget <= 1 || d.run_next_streak == worker_state::run_next_in_a_row || d.slow_path->any())
    return false;
  fiber* const me = d.ready.running_without_slot();  // run_next is set: see run_queues::push_woken()
  if (me->state.commit_park_at_home() == after_park::run_again) [[unlikely]]
    return true;
  --d.budget;
  ++d.run_next_streak;
  d.run_next = nullptr;
  me->waits_for = what;
  me->since = d.now_ms;
  d.ready.go_on_with(next);
  context::switch_places(me->run, next->run, next->run.sp);
  return true;
#else
  static_cast<void>(d);
  static_cast<void>(what);
  return false;
#endif
}

void yield_slowly();
void park_slowly(const char* what);

}  // namespace detail
}  // namespace sched
}  // namespace v1
}  // namespace shunt
