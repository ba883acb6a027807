/// A thread's part in transactions, and how one thread gets to run transactions exclusively.
///
/// A participant's number is odd while it is inside a transaction (or a single-variable operation). The mode says
/// which participants may enter:
///
///   mode            may enter                         any other participant
///   open            all                               any -> changing
///   exclusive(p)    p, without read-modify-writes     any -> changing
///   irrevocable(p)  p is inside, once                 waits; p, when it has left: -> open
///   changing        none                              waits; the participant that is changing the mode waits until
///                                                     all others are outside, then -> open, exclusive(itself) or
///                                                     irrevocable(itself)
///
/// To enter, a participant makes its number odd, executes the light fence and looks at the mode; it leaves again if the
/// mode keeps it out. To change the mode, a participant stores `changing`, executes the heavy fence and looks at all
/// numbers. At least one of two such participants sees the other (base/asymmetric_fence.hpp), and a participant that
/// enters stays in the mode that it has seen until it leaves. This is pair `announced`: the fences in announce() and in
/// heavy_fence(). Freeing memory uses the same pair, with the replaced pointer in the mode's place. Where fences are
/// not asymmetric both sides execute a sequentially consistent fence: the looks at the numbers and at the registry, and
/// what a body reads, are not sequentially consistent operations themselves.
///
/// The participant that changes the mode waits without giving its thread to another fiber, because that fiber could
/// wait for the mode. This takes as long as the longest body that runs; no body waits for anything.
///
/// Edge `left`: a participant that leaves (release) -> one that changes the mode, or frees memory (acquire). The latter
/// waits until the number has changed, and may read the next odd number. So entering is a release store as well: it
/// does not continue the release sequence of the store before it.
/// Edge `mode`: the participant that changed it (release) -> a participant that enters, or changes it again (acquire).
/// The latter sees the number that the former had when it stored the mode, or a later one.
#pragma once

#include <atomic>
#include <cstdint>
#include <shunt/base/asymmetric_fence.hpp>
#include <shunt/base/cache_line.hpp>
#include <shunt/stm/detail/engine/word.hpp>

namespace shunt {
inline namespace v1 {
namespace stm::detail {

inline constexpr word mode_open = 0;
inline constexpr word mode_changing = 1;
inline constexpr word no_mode = ~word{0};  // the mode never has this value

struct alignas(quiet_distance) shared_mode {
  std::atomic<word> now{mode_open};
};
inline constinit shared_mode the_mode;

/// One step of a loop that waits for another thread: short at first, then long enough for that thread to get a CPU.
void pause(int round) noexcept;

class participant {
 public:
  explicit participant(std::uint32_t index) noexcept
      : exclusive_mode_((word{index} + 1) << 2 | 2), bit_(std::uint64_t{1} << (index % 64)) {}
  participant(const participant&) = delete;
  participant& operator=(const participant&) = delete;

  /// Own thread: its number, and whether it is inside.
  [[nodiscard]] std::uint64_t own_number() const noexcept {
    return number_.load(std::memory_order_relaxed);  // relaxed: only this thread stores it
  }
  [[nodiscard]] bool inside() const noexcept { return (own_number() & 1) != 0; }

  /// Own thread, outside. \param number  its own. \return whether it is inside; false: the mode keeps it out.
  [[nodiscard, gnu::always_inline]] bool try_enter(std::uint64_t number) noexcept {
    const auto mode = announce(number);
    exclusive_ = mode == exclusive_mode_;
    if (mode == mode_open || exclusive_) [[likely]] {
      mode_ = mode;
      return true;
    }
    leave();
    return false;
  }
  /// Like try_enter(), where the mode is still what it was when this thread last entered. \return false: the mode has
  /// changed; the number is odd all the same, and the caller must leave().
  [[nodiscard, gnu::always_inline]] bool try_enter_as_before(std::uint64_t number) noexcept {
    return announce(number) == mode_;
  }
  /// Own thread, outside. Waits until it is inside; lets other fibers of its worker run meanwhile, where it may.
  void enter();
  /// Like enter(); no other participant is inside then, or enters before leave_irrevocable().
  void enter_irrevocably();

  void leave() noexcept { number_.store(own_number() + 1, std::memory_order_release); }  // edge `left`
  void leave_irrevocable() noexcept;

  /// Own thread, inside: whether no other participant is inside. After leave(): whether none was.
  [[nodiscard]] bool exclusive() const noexcept { return exclusive_; }

  /// Own thread, outside, now and then: changes to exclusive mode if no other thread seems to run transactions.
  void try_exclusive_mode(std::int64_t now_ns) noexcept;

  /// Any thread: exclusive mode may be tried at once, however short its last periods were.
  static void try_exclusive_soon() noexcept;

  [[nodiscard]] std::uint64_t bit() const noexcept { return bit_; }
  /// Any thread. Edge `left` in.
  [[nodiscard]] std::uint64_t number() const noexcept { return number_.load(std::memory_order_acquire); }
  /// Any thread, after heavy_fence(): waits until this participant has left what it was inside of at the call. Does not
  /// give the thread to another fiber.
  void wait_until_left() const noexcept;

  /// Any thread: the heavy half of the fence.
  static void heavy_fence() noexcept;

  participant* next = nullptr;  // in the registry; set once, before it is in the list
  bool in_use = true;           // guarded by the registry's lock

 private:
  /// Makes the number odd, then looks at the mode.
  [[nodiscard, gnu::always_inline]] word announce(std::uint64_t number) noexcept {
    if (light_) [[likely]] {
      number_.store(number + 1, std::memory_order_release);  // edge `left` once more
      asymmetric_fence::light();                             // pair `announced`
    } else {
      // release: edge `left` once more. seq_cst, and an exchange: pair `announced`, in builds with ThreadSanitizer,
      // which leave the fence out.
      number_.exchange(number + 1, std::memory_order_seq_cst);
      asymmetric_fence::symmetric();
    }
    return the_mode.now.load(std::memory_order_seq_cst);  // edge `mode` in; seq_cst: the same instruction on x86-64
  }
  [[nodiscard]] bool change(word from, word to) noexcept;

  std::atomic<std::uint64_t> number_{0};
  const word exclusive_mode_;
  const std::uint64_t bit_;
  bool exclusive_ = false;
  const bool light_ = asymmetric_fence::usable();
  word mode_ = no_mode;            // the mode in which this thread was last inside
  std::uint64_t others_seen_ = 0;  // the sum of the others' numbers at the last look
};

}  // namespace stm::detail
}  // namespace v1
}  // namespace shunt
