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
// initial-exec: one load more than a constant address, also in a shared library, where the default is
// a call. The library then needs eight bytes of the static block that the loader keeps for such use.
[[gnu::tls_model("initial-exec")]] extern constinit thread_local desk* this_threads_desk asm("shunt_sched_desk_v1");

#if !defined(__x86_64__) && !defined(__aarch64__)
[[nodiscard, gnu::noinline]] desk& here_by_call() noexcept;
#endif

/// The calling thread's; nobody's for threads that are no workers.
[[nodiscard, gnu::always_inline]] inline desk& here() noexcept {
#if defined(__x86_64__)
  // As compilers do it, but for one thing: they keep the variable's offset on the stack across a
  // switch, and every switch then waits for one more load from the stack it has just come to (7.7
  // against 3.5 ns).
  desk* d;
  asm volatile("movq shunt_sched_desk_v1@gottpoff(%%rip), %0\n\t"
               "movq %%fs:(%0), %0"
               : "=r"(d));
  return *d;
#elif defined(__aarch64__)
  desk* d;
  void* thread;
  asm volatile("adrp %0, :gottprel:shunt_sched_desk_v1\n\t"
               "ldr %0, [%0, #:gottprel_lo12:shunt_sched_desk_v1]\n\t"
               "mrs %1, tpidr_el0\n\t"
               "ldr %0, [%0, %1]"
               : "=&r"(d), "=&r"(thread));
  return *d;
#else
  return here_by_call();
#endif
}

/// Straight to the next ready fiber, if it has a seat (ready_ring.hpp, S3) and nothing else has to be looked at.
/// \return false: nothing has happened.
[[gnu::always_inline]] inline bool yield_quickly(desk& d) noexcept {
#if defined(SHUNT_CONTEXT_BOOST) || defined(SHUNT_ASAN) || defined(SHUNT_TSAN)
  static_cast<void>(d);  // nobody ever has a seat
  return false;
#else
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
#endif
}

void yield_slowly();

}  // namespace detail
}  // namespace sched
}  // namespace v1
}  // namespace shunt
