/// How other threads reach a worker: its inbox, and the parker that it sleeps on.
#pragma once

#include <atomic>
#include <cstdint>

#include <shunt/base/cache_line.hpp>
#include <shunt/sched/detail/fiber.hpp>
#include <shunt/sched/detail/inbox.hpp>
#include <shunt/sched/detail/parker.hpp>

namespace shunt {
inline namespace v1 {
namespace sched {
namespace detail {

/// Type-stable like a fiber's block (fiber.F1): a thread that woke a fiber may still touch its worker's remote when
/// that fiber has ended, and the runtime with it.
struct remote {
  alignas(quiet_distance) detail::inbox<fiber> inbox;
  detail::parker parker;
  remote* next_free = nullptr;
  std::int32_t worker = -1;  // the worker's number, for debuggers
  std::atomic<bool> woken_from_outside{
      false};  // a thread that is no worker has woken a fiber here, and may do so again

  /// Any thread. Hands the fiber to the worker, and wakes the worker if it sleeps.
  void send(fiber* f) noexcept {
    const auto owed = inbox.push(f);
    SHUNT_ASSERT(owed != after_push::refused);
    if (owed == after_push::wake) parker.unpark();
  }
  /// Any thread: the same, of a wake for the fiber. \return false: no worker is there any more.
  [[nodiscard]] bool send_wake(fiber* f) noexcept {
    const auto owed = inbox.push_wake(f);
    if (owed == after_push::wake) parker.unpark();
    return owed != after_push::refused;
  }
  /// Any thread. The worker polls once more before it sleeps next; if it sleeps, it wakes.
  void unpark() noexcept {
    if (inbox.unpark() == after_push::wake) parker.unpark();
  }
};

/// Any thread. A wake for a fiber that stays on its worker (fiber_state.hpp, "at home"), which another thread does.
/// Without effect if the fiber has ended.
void post_wake(fiber& f) noexcept;
/// The thread that has taken a posted wake of `f` out of an inbox, which was not the home worker's: sends the wake to
/// where the fiber is by now.
void pass_on_wake(fiber& f) noexcept;

/// Any thread. \throws std::bad_alloc
[[nodiscard]] remote* take_remote();
/// Any thread.
void give_remote(remote* r) noexcept;

}  // namespace detail
}  // namespace sched
}  // namespace v1
}  // namespace shunt
