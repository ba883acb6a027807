/// What a yield needs of a worker, on one cache line, and what waits look at, on the next; here, so that a
/// yield is a few instructions in the fiber's own code, and costs what is live there (context/switch.hpp).
///
/// The calling thread's desk is found through a thread_local by instructions of ours: compilers keep the
/// address of one across a switch, and some fibers go on on another thread (DESIGN.md).
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

struct alignas(cache_line) desk {
  // What a yield needs.
  const context::exception_state* in_the_way = &no_exceptions;  // any(): a yield has more to do
  int credit = 0;                                               // switches until the loop must run; 0 while it does
  bool asks_ahead = false;                                      // look_ahead.hpp
  fiber* favoured = nullptr;                                    // woken by the running fiber; runs next
  const no_wait* forbid = nullptr;                              // see set_forbid()
  ready_ring ready;                                             // what a yield needs of it comes first; and who runs

  context::exception_state* exceptions = &no_exceptions;
  poller* outside = nullptr;  // who is asked for what happens outside; null: nobody
  std::uint32_t mark = 0;     // poller::mark()

  [[nodiscard]] fiber* running() const noexcept { return ready.running(); }  ///< null: the loop runs
  [[nodiscard]] bool in_fiber() const noexcept { return ready.anybody_runs(); }

  /// A yield looks for one thing alone that may stand in its way, and finds either in the same place.
  void set_forbid(const no_wait* who) noexcept {
    forbid = who;
    in_the_way = who == nullptr ? exceptions : &forbidden;
  }
  void set_exceptions(context::exception_state* of_thread) noexcept {
    exceptions = of_thread;
    set_forbid(forbid);
  }

  static inline constinit context::exception_state no_exceptions{};  // nobody's
  static inline constinit const context::exception_state forbidden{nullptr, 1};
};
static_assert(sizeof(void*) != 8 || sizeof(desk) == 2 * cache_line);
static_assert(sizeof(void*) != 8 ||
              offsetof(desk, ready) + ready_ring::running_at() < cache_line);  // all that a yield needs

/// Of threads that are no workers: its ring is empty, so whoever sits there is sent to yield_slowly().
extern constinit desk nobodys_desk;
[[gnu::tls_model("initial-exec")]] extern constinit thread_local desk* this_threads_desk asm("shunt_sched_desk_v1");
[[nodiscard, gnu::noinline]] desk* here_by_call() noexcept;

/// The calling thread's; nobody's for threads that are no workers.
[[nodiscard, gnu::always_inline]] inline desk& here() noexcept {
  desk* found;
  SHUNT_READ_THREAD_POINTER(found, "shunt_sched_desk_v1", here_by_call);
  return *found;
}

/// Straight to the next ready fiber, if it has a seat (ready_ring.hpp, S3) and nothing else has to be looked at.
/// \return false: nothing has happened.
[[gnu::always_inline]] inline bool yield_quickly(desk& d) noexcept {
#if SHUNT_PLACES_SUFFICE
  seat* const mine = d.ready.mine();
  if (mine == nullptr || d.in_the_way->any()) [[unlikely]]
    return false;
  if (--d.credit <= 0) [[unlikely]]
    return false;
  seat* const next = d.ready.after(mine);
  context::place* to = &next->at;
  void* sp = to->sp;
  if (sp == nullptr) [[unlikely]] {  // S1
    to = &next->who->run;
    sp = to->sp;
  }
  d.ready.move_on_to(next);
  if (d.asks_ahead) [[unlikely]]
    d.ready.ask_ahead(next);
  context::switch_places(mine->at, *to, sp);
  return true;
#else
  static_cast<void>(d);  // nobody ever has a seat
  return false;
#endif
}

void yield_slowly();

}  // namespace detail
}  // namespace sched
}  // namespace v1
}  // namespace shunt
