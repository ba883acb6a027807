/// Whether a fiber runs (or is ready to), and whether a wake came while it did.
///
///   state      commit_park()            wake()                 expire()
///   running    -> parked,  pick_next    -> woken,   nothing    nothing
///   woken      -> running, run_again    -> woken,   nothing    nothing
///   parked     breach of contract       -> running, enqueue    -> running, enqueue
///
/// A fiber that is in a queue is `running`: no thread may enqueue it again.
///
/// There are two ways through this table. The block of a fiber takes one of them, for ever:
///
///   at home    Only the fiber's home worker changes the state, so plain loads and stores do. Another thread posts its
///              wake: it sends the block to the home worker's inbox, and that worker wakes the fiber (posted_wake.hpp).
///   anywhere   For a fiber that migrates. Any thread wakes it, by an exchange.
///
/// Edges of the second way
///   signal   wake -> commit_park   what any thread wrote before wake() is visible after park()
///                                  (a wake that enqueues passes it on by the inbox's edge `sent`)
///   handed   commit_park -> wake   the home worker's last use of the fiber's queue link precedes
///                                  the use by the thread that enqueues
///
/// Unlike in the usual protocol, the fiber commits before it leaves its stack. That is sound because the thread that
/// must enqueue the fiber hands it to its home worker. The home worker is the thread that the fiber parks on, and takes
/// the fiber up only after it has left its stack. See DESIGN.md, "A started fiber stays".
#pragma once

#include <atomic>
#include <cstdint>

#include <shunt/base/error.hpp>

namespace shunt {
inline namespace v1 {
namespace sched {
namespace detail {

/// What the fiber does after commit_park().
enum class [[nodiscard]] after_park : std::uint8_t { pick_next, run_again };
/// What the caller owes after wake().
enum class [[nodiscard]] after_wake : std::uint8_t { nothing, enqueue };

class fiber_state {
 public:
  // --- at home: on the thread of the fiber's home worker ---

  after_park commit_park_at_home() noexcept {
    if (at_home() == word::running) [[likely]] {
      become(word::parked);
      return after_park::pick_next;
    }
    SHUNT_ASSERT(at_home() == word::woken);
    become(word::running);
    return after_park::run_again;
  }
  after_wake wake_at_home() noexcept {
    const bool was_parked = parked();
    become(was_parked ? word::running : word::woken);
    return was_parked ? after_wake::enqueue : after_wake::nothing;
  }
  after_wake expire_at_home() noexcept {
    if (!parked()) return after_wake::nothing;
    become(word::running);
    return after_wake::enqueue;
  }

  // --- anywhere ---

  /// The fiber itself, on its worker.
  after_park commit_park() noexcept {
    auto seen = word::running;
    // release: edge `handed` out. acquire on failure: edge `signal` in, a wake came first.
    if (word_.compare_exchange_strong(seen, word::parked, std::memory_order_acq_rel, std::memory_order_acquire)) {
      return after_park::pick_next;
    }
    SHUNT_ASSERT(seen == word::woken);
    // acquire: edge `signal` in. An exchange: a wake that comes between the two is absorbed, and its `signal` with it.
    word_.exchange(word::running, std::memory_order_acquire);
    return after_park::run_again;
  }

  /// Any thread, any number of times.
  after_wake wake() noexcept {
    auto seen = word_.load(std::memory_order_relaxed);  // relaxed: a guess; the exchange below decides
    for (;;) {
      const auto next = seen == word::parked ? word::running : word::woken;
      // acq_rel: edge `signal` out, edge `handed` in. `woken -> woken` is written too: without the
      // write this waker's half of `signal` would be missing.
      if (word_.compare_exchange_weak(seen, next, std::memory_order_acq_rel, std::memory_order_relaxed)) {
        return seen == word::parked ? after_wake::enqueue : after_wake::nothing;
      }
    }
  }

  /// The home worker, when the fiber's deadline has passed. If a wake came first, nothing changes.
  after_wake expire() noexcept {
    auto seen = word::parked;
    // acq_rel: like wake(). The home worker's own thread wrote `parked` in commit_park(), so program order already does
    // what edge `handed` does for other threads: acq_rel is more than it needs. relaxed on failure: a wake came first,
    // and the inbox's edge `sent` has handed on everything.
    return word_.compare_exchange_strong(seen, word::running, std::memory_order_acq_rel, std::memory_order_relaxed)
               ? after_wake::enqueue
               : after_wake::nothing;
  }

  /// A look, for dumps and tests.
  [[nodiscard]] bool parked() const noexcept {
    return word_.load(std::memory_order_relaxed) == word::parked;  // relaxed: nothing follows
  }

 private:
  enum class word : std::uint32_t { running, woken, parked };
  // At home only one thread at a time has the block, and what hands the block on orders the rest.
  [[nodiscard]] word at_home() const noexcept {
    return word_.load(std::memory_order_relaxed);  // relaxed: see above
  }
  void become(word next) noexcept { word_.store(next, std::memory_order_relaxed); }  // relaxed: see above
  std::atomic<word> word_{word::running};
};

}  // namespace detail
}  // namespace sched
}  // namespace v1
}  // namespace shunt
