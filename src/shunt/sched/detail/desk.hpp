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
  fiber* running = nullptr;  // null: the loop runs
  const no_wait* forbid = nullptr;
  fiber* favoured = nullptr;  // woken by the running fiber; runs next
  context::exception_state* exceptions = &no_exceptions;
  int credit = 0;  // switches until the loop must run; 0 while it does
  ready_ring ready;  // what a yield needs of it comes first

  poller* outside = nullptr;  // who is asked for what happens outside; null: nobody
  std::uint32_t mark = 0;     // poller::mark()

  static inline constinit context::exception_state no_exceptions{};  // nobody's
};
static_assert(sizeof(desk) == 2 * cache_line);  // a yield needs the first alone

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
  if (mine == nullptr || d.forbid != nullptr) [[unlikely]] return false;
  if (d.exceptions->any()) [[unlikely]] return false;
  if (--d.credit <= 0) [[unlikely]] return false;
  seat* const next = d.ready.after(mine);
  d.running = next->who;
  d.ready.move_on_to(next);
  context::place* to = &next->at;
  if (to->sp == nullptr) [[unlikely]] to = &next->who->run;  // S1
  context::switch_places(mine->at, *to);
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
