#include <shunt/sched/detail/debug_layout.hpp>

#include <shunt/sched/detail/compact_stacks.hpp>
#include <shunt/sched/detail/fiber.hpp>
#include <shunt/sched/detail/remote.hpp>
#include <shunt/sched/detail/worker_state.hpp>

// offsetof in a class with members of the C++ library: compilers support it, the standard does not promise it.
#pragma GCC diagnostic ignored "-Winvalid-offsetof"

namespace shunt {
inline namespace v1 {
namespace sched {
namespace detail {
namespace {

template <class Fiber, class State, class Remote>
constexpr debug_layout layout_of() {
  debug_layout all;
  all.block_bytes = sizeof(Fiber);
#if !defined(SHUNT_CONTEXT_BOOST)  // how its stopped stacks look is not documented
  all.sp = offsetof(Fiber, run) + offsetof(context::execution, sp);
  all.fp = offsetof(Fiber, run) + offsetof(context::execution, fp);
  all.pc = offsetof(Fiber, run) + offsetof(context::execution, pc);
  all.kept = offsetof(Fiber, run) + offsetof(context::execution, kept);
#endif
  all.started = offsetof(Fiber, started);
  static_assert(sizeof(fiber_state) == 4);
  all.state = offsetof(Fiber, state);
  all.stack_low = offsetof(Fiber, stack) + offsetof(context::stack_pool::stack, low);
  all.stack_bytes = offsetof(Fiber, stack) + offsetof(context::stack_pool::stack, bytes);
  all.home = offsetof(Fiber, home);
#if defined(_GLIBCXX_USE_CXX11_ABI) && _GLIBCXX_USE_CXX11_ABI
  all.name = offsetof(Fiber, name);
  // std::_Function_base: what is called, in two words, then how it is called; null for nothing.
  all.body = offsetof(Fiber, body) + 2 * sizeof(void*);
#endif
  static_assert(sizeof(Fiber::name) == sizeof(void*) && sizeof(Fiber::home) == sizeof(void*));
  all.waits_for = offsetof(Fiber, waits_for);
  static_assert(sizeof(Fiber::since) == 4);
  all.since = offsetof(Fiber, since);
  all.current = offsetof(State, ready) + ready_ring::current_at();
  all.running = offsetof(State, ready) + ready_ring::running_at();
  static_assert(sizeof(Remote::worker) == 4);
  all.worker = offsetof(Remote, worker);
  static_assert(offsetof(slot, at) == 0 && offsetof(context::place, sp) == 0 &&
                offsetof(context::place, fp) == sizeof(void*) && offsetof(context::place, pc) == 2 * sizeof(void*) &&
                offsetof(context::place, kept) == 3 * sizeof(void*));
  all.slots = offsetof(State, ready) + ready_ring::memory_at();
  all.slot_count = offsetof(State, ready) + ready_ring::capacity_at();
  all.slot_bytes = sizeof(slot);
  all.slot_fiber = offsetof(slot, occupant);
  static_assert(sizeof(Fiber::compact) == 1 && sizeof(frames_aside::bytes) == sizeof(std::uint64_t));
  all.compact = offsetof(Fiber, compact);
  all.compact_slab_bytes = Fiber::compact_slab_bytes;
  all.frames_bytes = Fiber::frames_bytes();
  all.frames_used = offsetof(frames_aside, bytes);
  all.frames_copy = offsetof(frames_aside, copy);
  all.red_zone = context::red_zone;
  return all;
}

}  // namespace

extern "C" {
// Exported whatever a build's flags, and in no debugger's way to be found once stripped.
[[gnu::used, gnu::visibility("default")]] constinit debug_layout shunt_debug_fibers_v2 =
    layout_of<fiber, worker_state, remote>();
}

void show_slabs(const void* slabs, std::size_t count, std::size_t blocks_a_slab) noexcept {
  auto& all = shunt_debug_fibers_v2;
  all.slabs = slabs;
  all.slab_count = static_cast<debug_layout::word>(count);
  all.blocks_a_slab = static_cast<debug_layout::word>(blocks_a_slab);
#if defined(__has_builtin)
#if __has_builtin(__builtin_thread_pointer)
  // The same for every thread: the variable is in the block that threads begin with (initial-exec).
  all.worker_state = reinterpret_cast<debug_layout::word>(&this_threads_state) -
                     reinterpret_cast<debug_layout::word>(__builtin_thread_pointer());
#endif
#endif
}

}  // namespace detail
}  // namespace sched
}  // namespace v1
}  // namespace shunt
