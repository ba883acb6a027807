/// What a worker publishes for other threads: counts of its fibers, and signs of life.
///
/// Only the worker's thread writes; any thread reads.
#pragma once

#include <atomic>
#include <cstdint>

#include <shunt/base/cache_line.hpp>

namespace shunt {
inline namespace v1 {
namespace sched {
namespace detail {

class published {
 public:
  // The worker's thread.

  void count_spawn() noexcept { spawned_.store(own(spawned_) + 1, std::memory_order_relaxed); }    // relaxed: spawned()
  void uncount_spawn() noexcept { spawned_.store(own(spawned_) - 1, std::memory_order_relaxed); }  // relaxed: likewise
  void count_end() noexcept { ended_.store(own(ended_) + 1, std::memory_order_release); }          // edge `tally` out
  /// The loop goes to a fiber.
  void enter_fiber() noexcept { next_beat(); }
  /// It comes back, at another beat: skip_loop() may have moved it on.
  void leave_fiber() noexcept { next_beat(); }
  /// As if the loop had run, and had come back.
  void skip_loop() noexcept { beat_.store(own(beat_) + 2, std::memory_order_relaxed); }        // relaxed: likewise
  void set_thread(long number) noexcept { thread_.store(number, std::memory_order_relaxed); }  // relaxed: a number
  void fall_asleep() noexcept {
    times_asleep_.store(own(times_asleep_) + 1, std::memory_order_relaxed);  // relaxed: other threads take a look
    sleeps_.store(true, std::memory_order_relaxed);  // relaxed: the monitor then looks at a worker that shows nothing
  }
  void wake_up() noexcept { sleeps_.store(false, std::memory_order_seq_cst); }  // edge `up` out

  // Any thread.

  /// Fibers that ended on this thread.
  [[nodiscard]] std::uint64_t ended() const noexcept {
    return ended_.load(std::memory_order_acquire);  // edge `tally` in
  }
  /// Fibers that this thread spawned.
  [[nodiscard]] std::uint64_t spawned() const noexcept {
    return spawned_.load(std::memory_order_relaxed);  // relaxed: see shared::all_ended()
  }
  /// The system's number of the worker's thread; 0: it does not work.
  [[nodiscard]] long thread() const noexcept { return thread_.load(std::memory_order_relaxed); }  // relaxed: a number
  /// Odd while a fiber runs; another number each time that the loop goes to a fiber or comes back.
  [[nodiscard]] std::uint64_t beat() const noexcept {
    return beat_.load(std::memory_order_relaxed);  // relaxed: a look
  }
  /// The worker sleeps, or works for no run: no fiber can keep it.
  [[nodiscard]] bool sleeps() const noexcept { return sleeps_.load(std::memory_order_seq_cst); }  // edge `up` in

  /// How often the worker has fallen asleep, or left a run.
  [[nodiscard]] std::uint64_t times_asleep() const noexcept {
    return times_asleep_.load(std::memory_order_relaxed);  // relaxed: a look
  }

 private:
  void next_beat() noexcept {
    beat_.store(own(beat_) + 1, std::memory_order_relaxed);  // relaxed: other threads take a look
  }
  static std::uint64_t own(const std::atomic<std::uint64_t>& counter) noexcept {
    return counter.load(std::memory_order_relaxed);  // relaxed: only this thread stores it
  }

  alignas(quiet_distance) std::atomic<std::uint64_t> spawned_{0};
  std::atomic<std::uint64_t> ended_{0};
  std::atomic<std::uint64_t> beat_{0};
  std::atomic<long> thread_{0};
  std::atomic<bool> sleeps_{true};
  std::atomic<std::uint64_t> times_asleep_{0};
};

}  // namespace detail
}  // namespace sched
}  // namespace v1
}  // namespace shunt
