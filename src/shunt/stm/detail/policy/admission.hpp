/// Which workers may run transactions of a class that is allowed on fewer workers than there are: places, held for a
/// slice of time.
///
/// A worker (or a plain thread) that holds a place runs its fibers' transactions. The fibers of other workers are in a
/// queue, parked. When a holder's slice is over, the worker of the queue's first fiber takes the place, and all its
/// fibers in the queue go on. A slice is as long as these fibers' turns together, and at least 2 ms; so where there are
/// many fibers they have equal shares, however they are spread over the workers. Time that a thread spends without its
/// CPU, or on a slow core (speed.hpp), does not use up its slice: it keeps its place for somewhat longer, and has the
/// rest in its next slice.
///
/// This is policy: nothing breaks where two workers hold one place. A holder that runs no more transactions loses its
/// place, too: a waiting fiber looks at the time.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <shunt/stm/detail/engine/waiter.hpp>

namespace shunt {
inline namespace v1 {
namespace stm::detail {

struct class_record;

/// For how long a fiber may run transactions while others wait.
inline constexpr std::chrono::nanoseconds turn_time{100'000};
/// A change of places costs some 20 us: a wake, two changes of mode, cache lines that move.
inline constexpr std::chrono::nanoseconds least_slice{2'000'000};
/// For how long a waiting fiber waits beyond the end of a slice. A holder that still runs transactions wakes it within
/// some 50 us.
inline constexpr std::chrono::nanoseconds wait_beyond_slice{500'000};
/// How many slices a worker without its CPU can save up, and so let the others wait for it later.
inline constexpr int most_saved_slices = 4;

class admission {
 public:
  explicit constexpr admission(int places) noexcept : places_(places) {}

  /// \param bit  a participant's. Participants of the same bit share a place.
  [[nodiscard]] bool holds(std::uint64_t bit) const noexcept {
    return (holders_.load(std::memory_order_relaxed) & bit) != 0;  // relaxed: policy
  }
  /// A caller that may wait: returns when `bit` holds a place, or `c` is admitted by another object.
  void enter(std::uint64_t bit, const class_record& c);

  /// A holder, now and then: if its slice is over, and a fiber waits, wakes that fiber.
  /// \param used  of the slice, since the last call: time with the CPU, more of it on a fast core.
  void use(std::uint64_t bit, time_point now, std::chrono::nanoseconds used) noexcept;

  /// From now on there are so many places; waiting fibers look again.
  void set_places(int places) noexcept;
  /// A class has left: waiting fibers look again.
  void wake_all() noexcept;

 private:
  struct queued {
    std::uint64_t bit;
    waiter wait{};
    queued* next = nullptr;
  };
  void add_last(queued& q) noexcept;
  void remove(const queued& q) noexcept;
  void begin_slice(std::uint64_t bit, time_point now) noexcept;
  [[nodiscard]] std::uint64_t place_for(std::uint64_t bit, time_point now) const noexcept;
  [[nodiscard]] time_point first_end() const noexcept;
  static std::size_t number(std::uint64_t bit) noexcept { return static_cast<std::size_t>(__builtin_ctzll(bit)); }

  std::atomic<std::uint64_t> holders_{0};  // stored under the lock; a look without it is policy
  std::atomic<int> waiting_{0};            // likewise
  std::mutex lock_;
  int places_;
  queued* first_ = nullptr;
  struct slice {
    time_point over{};  // by the clock, at the latest
    std::chrono::nanoseconds left{0};
  };
  slice slices_[64] = {};  // of each bit, its present or last one
};

/// All classes that are allowed on one worker share one place, whatever variables they have in common: so they do not
/// conflict, and that worker may run in exclusive mode.
inline constinit admission single_worker{1};

}  // namespace stm::detail
}  // namespace v1
}  // namespace shunt
