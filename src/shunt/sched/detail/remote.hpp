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
    if (inbox.push(f) == after_push::wake) parker.unpark();
  }
  /// Any thread. The worker polls once more before it sleeps next; if it sleeps, it wakes.
  void unpark() noexcept {
    if (inbox.unpark() == after_push::wake) parker.unpark();
  }
};

/// Any thread. \throws std::bad_alloc
[[nodiscard]] remote* take_remote();
/// Any thread.
void give_remote(remote* r) noexcept;

}  // namespace detail
}  // namespace sched
}  // namespace v1
}  // namespace shunt
