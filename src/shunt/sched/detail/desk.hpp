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

namespace shunt {
inline namespace v1 {
namespace sched {

class no_wait;
class poller;

namespace detail {

/// Started fibers that are ready, first in first out: pointers in a ring, for what comes next must be
/// known well before its turn. Its memory is reserved when a fiber starts, so that push() cannot fail.
///
///   | . | . | f0 | f1 | f2 | ... | f8 | ... | f16 | ...
///             ^ head: next        ^ its stack  ^ its block are asked for now
class ready_ring {
 public:
  [[nodiscard]] bool empty() const noexcept { return head_ == tail_; }
  [[nodiscard]] std::uint32_t size() const noexcept { return tail_ - head_; }

  void push(fiber* f) noexcept {
    SHUNT_ASSERT(size() < capacity());
    slots_[tail_++ & mask_] = f;
  }
  /// Not of an empty one.
  [[nodiscard]] fiber* pop() noexcept {
    fiber* const f = slots_[head_++ & mask_];
    if (size() > blocks_ahead) {
      __builtin_prefetch(slots_[(head_ + blocks_ahead) & mask_]);
      __builtin_prefetch(slots_[(head_ + stacks_ahead) & mask_]->run.sp);
    }
    return f;
  }
  /// The same for who parks: a round of such fibers is long, system calls in it, so what was asked for many places ahead
  /// would be gone again, and a miss on the way to it would hold up the next call. Of the next one more is asked for: the
  /// frames that it will return through.
  [[nodiscard]] fiber* pop_after_park() noexcept {
    fiber* const f = slots_[head_++ & mask_];
    if (size() > 2) {
      slots_[(head_ + 2) & mask_]->prefetch();
      slots_[head_ & mask_]->prefetch_frames();
    }
    return f;
  }
  /// Room for so many. \throws std::bad_alloc
  void reserve(std::size_t fibers) {
    if (fibers > capacity()) grow(fibers);
  }
  [[nodiscard]] std::size_t capacity() const noexcept { return slots_ ? std::size_t{mask_} + 1 : 0; }

 private:
  static constexpr std::uint32_t blocks_ahead = 16;
  static constexpr std::uint32_t stacks_ahead = 8;

  void grow(std::size_t fibers);

  std::unique_ptr<fiber*[]> slots_;
  std::uint32_t mask_ = 0;
  std::uint32_t head_ = 0;  // they count on without end; the mask makes places of them
  std::uint32_t tail_ = 0;
};

struct alignas(cache_line) desk {
  fiber* running = nullptr;  // null: the loop runs
  const no_wait* forbid = nullptr;
  fiber* favoured = nullptr;  // woken by the running fiber; runs next
  context::exception_state* exceptions = &no_exceptions;
  ready_ring ready;
  int credit = 0;  // switches until the loop must run; 0 while it does

  alignas(cache_line) poller* outside = nullptr;  // who is asked for what happens outside; null: nobody

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

/// Straight to the next ready fiber, if there is one and nothing else has to be looked at.
/// \return false: nothing has happened.
[[gnu::always_inline]] inline bool yield_quickly(desk& d) noexcept {
  if (d.ready.empty() || d.favoured != nullptr || d.forbid != nullptr) [[unlikely]] return false;
  if (d.exceptions->any()) [[unlikely]] return false;
  if (--d.credit <= 0) [[unlikely]] return false;
  fiber* const me = d.running;
  fiber* const next = d.ready.pop();
  d.ready.push(me);
  d.running = next;
  context::switch_to(me->run, next->run);
  return true;
}

void yield_slowly();

}  // namespace detail
}  // namespace sched
}  // namespace v1
}  // namespace shunt
