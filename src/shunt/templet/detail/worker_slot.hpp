/// What a send touches of the worker that it is on. See loop.hpp and scheduler.hpp for the rest.
///
/// Invariants
///   worker_slot.W1  One thread writes and reads what an activation says: its own.
///   worker_slot.W2  A thread's quick activation is that of a slot whose loop's fiber is on this thread and has not
///       ended, or `no_activation`. If another slot's handler runs, the slow way finds that slot.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include <shunt/base/thread_pointer.hpp>
#include <shunt/templet/detail/run_queue.hpp>

namespace shunt {
inline namespace v1 {
namespace templet {

class actor;

namespace detail {

class scheduler;

/// The actor whose handler runs in a slot.
struct activation {
  scheduler* of = nullptr;
  std::uintptr_t running = no_actor;  // the actor's address

  static constexpr std::uintptr_t no_actor = 0;  // never the value of a message's where_ that a handler may send
};
inline constinit activation no_activation;

/// The calling thread's quick activation (worker_slot.W2).
[[nodiscard, gnu::always_inline]] inline activation* quick_activation() noexcept;

/// A worker's place in one run: one fiber of that worker runs actors here, one at a time.
class worker_slot : protected activation {
 public:
  worker_slot(scheduler& all, std::atomic<int>& sleepers) noexcept : activation{&all}, sleepers_(sleepers) {}

  /// The calling thread's slot, if a handler of the actor with address `holder` runs there, in `on`. A null pointer:
  /// that handler runs elsewhere, or nowhere, or it takes a longer look to know.
  [[nodiscard, gnu::always_inline]] static worker_slot* of_handler(const scheduler* on,
                                                                   std::uintptr_t holder) noexcept {
    activation* const here = quick_activation();
    return here->running == holder && here->of == on ? static_cast<worker_slot*>(here) : nullptr;
  }

  /// This slot's thread, after it got `queue_it`.
  void queue(actor& a) noexcept {
    if (!ready_.push(&a)) [[unlikely]]
      return inject(a);
    // seq_cst: pair `sleeping`: after the push
    if (sleepers_.load(std::memory_order_seq_cst) != 0) [[unlikely]]
      wake_one();
  }

 protected:
  static constexpr std::size_t queue_slots = 1024;

  [[gnu::cold]] void inject(actor& a) noexcept;
  [[gnu::cold]] void wake_one() noexcept;

  std::atomic<int>& sleepers_;
  run_queue<actor, queue_slots> ready_;
};

/// See quick_activation().
[[gnu::tls_model("initial-exec")]] extern constinit thread_local activation* this_threads_quick_activation asm(
    "shunt_templet_activation_v1");
[[nodiscard, gnu::noinline]] activation* quick_activation_by_call() noexcept;

inline activation* quick_activation() noexcept {
  activation* found;
  SHUNT_READ_THREAD_POINTER(found, "shunt_templet_activation_v1", quick_activation_by_call);
  return found;
}

}  // namespace detail
}  // namespace templet
}  // namespace v1
}  // namespace shunt
