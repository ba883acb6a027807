/// Starts a worker's fibers and ends them: it gives each a block and a stack, and takes both back.
///
/// Owner only: the worker's thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>

#include <shunt/context/stack_pool.hpp>
#include <shunt/sched/detail/compact_stacks.hpp>
#include <shunt/sched/detail/fiber.hpp>

namespace shunt {
inline namespace v1 {
namespace sched {

class no_wait;

namespace detail {

class worker;

class fiber_starter {
 public:
  /// A block for a new fiber. \throws std::bad_alloc
  [[nodiscard]] fiber* new_fiber(fiber_cache::kind of = fiber_cache::kind::usual) { return blocks_.take(of); }
  /// Gives the block back. The fiber has ended, or was never run.
  void drop(fiber* f) noexcept;

  /// The loop: gives `f` a stack, on which `body` will run. Without memory for a stack, runs `f` from beginning to end
  /// on the loop's own stack (spawn_options::even_without_stack), or drops it. \return whether `f` can be switched to.
  bool start(worker& w, fiber* f, void (*body)(void*) noexcept) noexcept;
  /// The loop: `f` has ended on this worker. One that migrated is sent back to the worker whose stack it has.
  void finish(worker& w, fiber* f) noexcept;

  /// Gives some memory of idle stacks back to the system. \return whether there is more.
  bool trim() noexcept { return stacks_.trim(); }

  /// What forbids waits while a fiber runs on the loop's stack; null: none does.
  [[nodiscard]] const no_wait* without_stack() const noexcept { return without_stack_; }
  /// How many fibers got no stack here.
  [[nodiscard]] std::uint64_t failures() const noexcept { return failures_; }

 private:
  // Tops of stacks lie whole pages apart, so their lines would share few sets of the caches: each new stack begins some
  // lines lower than the one before it, in turn.
  static constexpr unsigned colours = 32;

  void run_without_stack(worker& w, fiber* f, const std::exception_ptr& why) noexcept;

  std::size_t started_ = 0;  // fibers that have a stack of this worker's
  unsigned colour_ = 0;      // of the last stack
  context::stack_pool stacks_;
  compact_stacks compact_;
  fiber_caches blocks_;
  // Cold.
  const no_wait* without_stack_ = nullptr;
  std::uint64_t failures_ = 0;
};

}  // namespace detail
}  // namespace sched
}  // namespace v1
}  // namespace shunt
