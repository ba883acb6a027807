/// What a dispatcher has begun and ended, so that the actor system can tell when all is quiet.
///
/// Invariants
///   activity_counts.D2  Three things are counted when they begin, and when they end: trains, from when they are opened
///       until they are unloaded, and the dead among their messages ended; controls, until they are done; and busy
///       periods (ready_actors.Q2). What begins during another one is counted before that ends. Controls are counted by
///       the actor system when they begin. Messages in rings are counted by the rings, in bytes, until the dispatcher
///       unloads them, which counts as a train does. See actor_system::quiet().
///
/// Edge `counted`, ended() -> done(): sent() sees what began before.
#pragma once

#include <atomic>
#include <cstdint>

namespace shunt {
inline namespace v1 {
namespace actor::detail {

class activity_counts {
 public:
  // The owner's thread.
  void began() noexcept { add(sent_, 1); }
  void ended(std::uint64_t by = 1) noexcept { add(done_, by); }

  // Any thread.
  [[nodiscard]] std::uint64_t done() const noexcept {
    return done_.load(std::memory_order_acquire);  // acquire: edge `counted` in
  }
  [[nodiscard]] std::uint64_t sent() const noexcept {
    return sent_.load(std::memory_order_relaxed);  // relaxed: see actor_system::quiet()
  }

 private:
  static void add(std::atomic<std::uint64_t>& counter, std::uint64_t by) noexcept {
    // relaxed load: only this thread stores it. release: edge `counted` out, of done_.
    counter.store(counter.load(std::memory_order_relaxed) + by, std::memory_order_release);
  }

  std::atomic<std::uint64_t> sent_{0};
  std::atomic<std::uint64_t> done_{0};
};

}  // namespace actor::detail
}  // namespace v1
}  // namespace shunt
