/// Where a class of transactions is allowed on fewer workers than there are: places, held for a slice of time.
///
/// A worker (or a plain thread) that holds a place runs its fibers' transactions. Fibers of the others stand in a
/// queue, parked; when a holder's slice is over, the worker of whoever stands first takes its place, and all its fibers
/// in the queue go on. The slice is as long as they are many, and 2 ms at least; so where they are many fibers have
/// equal shares, however they lie on the workers. What a thread spends of it without its CPU, or on a slow one
/// (pace.hpp), is not held against it: it holds its place for somewhat longer, and has the rest in its next slice.
///
/// This is policy: nothing breaks where two hold one place. A holder that runs no more transactions loses its place
/// likewise: who waits looks at the time.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <shunt/stm/detail/sleeper.hpp>

namespace shunt {
inline namespace v1 {
namespace stm::detail {

struct class_record;

/// What a fiber may run transactions for while others wait.
inline constexpr std::chrono::nanoseconds quantum{100'000};
/// A change of places costs some 20 us: a wake, two changes of mode, lines that move.
inline constexpr std::chrono::nanoseconds least_slice{2'000'000};
/// A holder whose slice is over calls who waits within some 50 us, if it still runs transactions.
inline constexpr std::chrono::nanoseconds patience_of_a_waiter{500'000};
/// What a worker without its CPU can save up, in slices: so long do others wait for it later, at the longest.
inline constexpr int most_left = 4;

class track {
 public:
  explicit constexpr track(int places) noexcept : places_(places) {}

  /// \param bit  a participant's. Those whose bits are the same share a place.
  [[nodiscard]] bool holds(std::uint64_t bit) const noexcept {
    return (holders_.load(std::memory_order_relaxed) & bit) != 0;  // relaxed: policy
  }
  /// Who may sleep: returns when `bit` holds a place, or `whose` is not on this track any more.
  void enter(std::uint64_t bit, const class_record& whose);

  /// A holder, now and then: if its slice is over, and somebody waits, that one is woken.
  /// \param used  what it has used of its slice since the last look: time that it had its CPU, more of it on a fast
  ///   core.
  void look(std::uint64_t bit, time_point now, std::chrono::nanoseconds used) noexcept;

  /// So many places from now on; those who wait look again.
  void set_places(int places) noexcept;
  /// Classes have left it: those who wait look again.
  void look_again() noexcept;

 private:
  struct waiting {
    std::uint64_t bit;
    sleeper sleeps{};
    waiting* next = nullptr;
  };
  void take_out(const waiting& w) noexcept;
  void settle(std::uint64_t bit, time_point now) noexcept;
  [[nodiscard]] std::uint64_t place_for(std::uint64_t bit, time_point now) const noexcept;
  [[nodiscard]] time_point first_end() const noexcept;
  static std::size_t number(std::uint64_t bit) noexcept { return static_cast<std::size_t>(__builtin_ctzll(bit)); }

  std::atomic<std::uint64_t> holders_{0};  // stored under the lock
  std::atomic<int> waiting_{0};            // likewise
  std::mutex lock_;
  int places_;
  waiting* first_ = nullptr;
  struct slice {
    time_point over{};  // as the clock goes, and at the latest
    std::chrono::nanoseconds left{0};
  };
  slice slices_[64] = {};  // of each bit, its present or last one
};

/// All classes that are allowed on one worker share it: whatever they have in common, they do not meet, and that
/// worker may run in solo mode.
inline constinit track narrow_track{1};

}  // namespace stm::detail
}  // namespace v1
}  // namespace shunt
