/// A lock for a few instructions, in one byte.
#pragma once

#include <atomic>

#include <sched.h>

namespace shunt {
inline namespace v1 {

/// Threads hold it for some ten nanoseconds, now and then for a system call, and do not wait while they hold it. A
/// thread that finds it held looks again, and lets other threads run after a while, since the holder may have lost its
/// CPU. Lockable, as std::unique_lock wants it. Cost: one exchange to lock, a store to unlock; half of a
/// std::mutex, in a fortieth of its room.
///
/// Edge: a release store, and the acquire exchange that it feeds
///   held   unlock -> lock   what earlier holders wrote
class spin_lock {
 public:
  /// Any thread that does not hold it.
  void lock() noexcept {
    // acquire: edge `held`.
    while (held_.exchange(true, std::memory_order_acquire)) wait();
  }
  /// Any thread that does not hold it. \return whether it holds it now.
  [[nodiscard]] bool try_lock() noexcept {
    return !held_.exchange(true, std::memory_order_acquire);  // acquire: edge `held`
  }
  /// The thread that holds it.
  void unlock() noexcept { held_.store(false, std::memory_order_release); }  // edge `held`

 private:
  [[gnu::cold, gnu::noinline]] void wait() const noexcept {
    constexpr int looks = 64;
    for (int i = 0; held_.load(std::memory_order_relaxed); ++i) {  // relaxed: a look; the exchange follows
      if (i >= looks) sched_yield();
    }
  }

  std::atomic<bool> held_{false};
};

}  // namespace v1
}  // namespace shunt
