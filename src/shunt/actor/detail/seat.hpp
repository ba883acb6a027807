/// What a send touches of the worker that it is on: see stage.hpp for the rest.
///
/// Invariants
///   S1  What a turn says is its thread's own: it alone writes it, and reads it.
///   S2  A thread's quick turn is that of a seat whose runner's fiber is on this thread and has not ended, or
///       `nobodys`. It need not be the one whose handler runs: then the slow way finds that.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include <shunt/actor/detail/ready_queue.hpp>
#include <shunt/base/thread_pointer.hpp>

namespace shunt {
inline namespace v1 {
namespace actors {

class actor;

namespace detail {

class stage;

/// Whose handler runs in a seat.
struct turn {
  stage* of = nullptr;
  std::uintptr_t whose = no_actor;  // the actor's address

  static constexpr std::uintptr_t no_actor = 0;  // which no message is in the hands of
};
inline constinit turn nobodys_turn;

/// The calling thread's quick turn (S2).
[[nodiscard, gnu::always_inline]] inline turn* quick_turn() noexcept;

/// A worker's place in one run: one fiber of that worker runs actors here, one at a time.
class seat : protected turn {
 public:
  seat(stage& all, std::atomic<int>& sleepers) noexcept : turn{&all}, sleepers_(sleepers) {}

  /// The calling thread's seat if a handler of the actor whose address is `holder` runs there, in `on`. A null pointer:
  /// that is so elsewhere, or not at all, or not known without a longer look.
  [[nodiscard, gnu::always_inline]] static seat* of_handler(const stage* on, std::uintptr_t holder) noexcept {
    turn* const here = quick_turn();
    return here->whose == holder && here->of == on ? static_cast<seat*>(here) : nullptr;
  }

  /// The thread of this seat, who was told `queue_it`.
  void queue(actor& a) noexcept {
    if (!ready_.push(&a)) [[unlikely]]
      return queue_outside(a);
    if (sleepers_.load(std::memory_order_seq_cst) != 0) [[unlikely]]
      wake_one();  // after the push: see DESIGN.md
  }

 protected:
  static constexpr std::size_t slots = 1024;

  [[gnu::cold]] void queue_outside(actor& a) noexcept;
  [[gnu::cold]] void wake_one() noexcept;

  std::atomic<int>& sleepers_;
  ready_queue<actor, slots> ready_;
};

/// See quick_turn().
[[gnu::tls_model("initial-exec")]] extern constinit thread_local turn* this_threads_quick_turn asm(
    "shunt_actor_turn_v1");
[[nodiscard, gnu::noinline]] turn* quick_turn_by_call() noexcept;

inline turn* quick_turn() noexcept {
  turn* found;
  SHUNT_READ_THREAD_POINTER(found, "shunt_actor_turn_v1", quick_turn_by_call);
  return found;
}

}  // namespace detail
}  // namespace actors
}  // namespace v1
}  // namespace shunt
