/// The gate: one thread at a time calls the library of a network: MPI, OpenSHMEM.
///
///   any thread          try_enter()       enter()             enter_urgently()
///                            |                |                       |
///                            +------ pass: the thread may call it ----+
///
/// Invariant
///   gate.G1  Every call of the network's library is made by the holder of the gate, which also owns every member that
///            is marked as the gate's. A function that calls the library, or uses such a member, takes a `pass`. The
///            exceptions are the carrier's constructor and destructor, while no other thread knows the carrier.
///
/// A thread that polls without pause would take the gate again before a thread that sleeps for it has woken. So threads
/// that must have the gate announce themselves, and polling threads make way for them.
#pragma once

#include <atomic>
#include <chrono>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

namespace shunt {
inline namespace v1 {
namespace transport {
namespace network {

/// One thread at a time is inside the network's library: the one that holds a pass.
class gate {
 public:
  /// Proof that the calling thread holds the gate (gate.G1). The destructor opens the gate.
  class pass {
   public:
    /// The other one is no proof any more.
    pass(pass&&) noexcept = default;
    /// Opens the gate that it held.
    pass& operator=(pass&&) noexcept = default;

   private:
    friend class gate;
    explicit pass(std::unique_lock<std::mutex> held) noexcept : held_(std::move(held)) {}

    std::unique_lock<std::mutex> held_;
  };

  /// Any thread that does not hold the gate. Waits until it opens.
  [[nodiscard]] pass enter() { return pass(std::unique_lock(mutex_)); }

  /// Any thread that does not hold the gate. Never waits. \return nothing: another thread holds it.
  [[nodiscard]] std::optional<pass> try_enter() noexcept {
    std::unique_lock held(mutex_, std::try_to_lock);
    if (!held) return std::nullopt;
    return pass(std::move(held));
  }

  /// Any thread that does not hold the gate. Polling threads make way for it.
  /// \param longest   how long it waits at most
  /// \param interval  between two tries
  /// \return nothing: the holder has not come back from the library in this time.
  [[nodiscard]] std::optional<pass> enter_urgently(std::chrono::nanoseconds longest,
                                                   std::chrono::nanoseconds interval) noexcept {
    const auto limit = std::chrono::steady_clock::now() + longest;
    // relaxed, all of urgent_: a hint to polling threads; the mutex orders what they do.
    urgent_.fetch_add(1, std::memory_order_relaxed);
    auto held = try_enter();
    while (!held && std::chrono::steady_clock::now() < limit) {
      std::this_thread::sleep_for(interval);
      held = try_enter();
    }
    urgent_.fetch_sub(1, std::memory_order_relaxed);  // relaxed: a hint, as above
    return held;
  }

  /// Any thread. True: another thread must have the gate, so a thread that only polls should not take it.
  [[nodiscard]] bool is_urgent() const noexcept {
    return urgent_.load(std::memory_order_relaxed) != 0;  // relaxed: see enter_urgently()
  }

 private:
  std::mutex mutex_;
  std::atomic<int> urgent_{0};  // threads inside enter_urgently()
};

}  // namespace network
}  // namespace transport
}  // namespace v1
}  // namespace shunt
