/// Who takes part in transactions: a thread; and how one of them gets to be alone.
///
/// A participant's number is odd while it is inside a transaction (or a single-variable operation). The mode says who
/// may go inside:
///
///   mode      goes inside                       others
///   open      everybody                         any -> changing
///   solo(p)   p, without read-modify-writes     any -> changing
///   alone(p)  p is inside, once                 wait; p, when it has left: -> open
///   changing  nobody                            wait; who made it so: waits until all others are outside,
///                                               then -> open, solo(itself) or alone(itself)
///
/// Going inside: number odd; light fence; look at the mode; outside again if it says no. Changing: mode; heavy fence;
/// look at all numbers. So at least one of the two sees the other (base/asymmetric_fence.hpp), and whoever goes inside
/// is in the mode it has seen until it leaves. Freeing memory is the same pair, with the replaced pointer for the mode.
/// Where fences are not asymmetric both sides have a sequentially consistent one: the looks at the numbers and at the
/// registry, and what a body reads, are no sequentially consistent operations themselves.
///
/// Who changes the mode waits without giving its thread to another fiber, which could be one that waits for the mode.
/// That takes as long as the longest body that runs; no body waits for anything.
///
/// Edge `left`: a participant that leaves (release) -> one that changes the mode, or frees memory (acquire). That one
/// waits until the number has changed, and may read the next odd one. So going inside is a release store as well: it
/// continues no release sequence of the store before it.
/// Edge `mode`: who changed it (release) -> who goes inside (acquire).
#pragma once

#include <atomic>
#include <cstdint>
#include <shunt/base/asymmetric_fence.hpp>
#include <shunt/base/cache_line.hpp>
#include <shunt/stm/detail/word.hpp>

namespace shunt {
inline namespace v1 {
namespace stm::detail {

inline constexpr word mode_open = 0;
inline constexpr word mode_changing = 1;
inline constexpr word no_mode = ~word{0};  // the mode is never that

struct alignas(quiet_distance) shared_mode {
  std::atomic<word> now{mode_open};
};
inline constinit shared_mode the_mode;

/// In a loop that waits for another thread: soon, or long enough for it to get a CPU.
void pause(int round) noexcept;

class participant {
 public:
  explicit participant(std::uint32_t index) noexcept
      : solo_mode_((word{index} + 1) << 2 | 2), bit_(std::uint64_t{1} << (index % 64)) {}
  participant(const participant&) = delete;
  participant& operator=(const participant&) = delete;

  /// This thread: its number, and whether it is inside.
  [[nodiscard]] std::uint64_t own_number() const noexcept {
    return number_.load(std::memory_order_relaxed);  // relaxed: only this thread stores it
  }
  [[nodiscard]] bool inside() const noexcept { return (own_number() & 1) != 0; }

  /// This thread, outside; `number` is its own. \return whether it is inside; false: the mode says no.
  [[nodiscard, gnu::always_inline]] bool go_inside(std::uint64_t number) noexcept {
    const auto mode = announce(number);
    solo_ = mode == solo_mode_;
    if (mode == mode_open || solo_) [[likely]] {
      mode_ = mode;
      return true;
    }
    leave();
    return false;
  }
  /// The same where the mode is still what it was when this thread last went inside. \return false: it is another one;
  /// this thread is still counted as inside, and has to leave.
  [[nodiscard, gnu::always_inline]] bool go_inside_as_before(std::uint64_t number) noexcept {
    return announce(number) == mode_;
  }
  /// The same, until it is; lets other fibers run meanwhile, where that may be. \param patient  whether the mode is
  /// left alone for a while if another one is in solo mode.
  void come_inside();
  /// Inside, without others. Waits likewise.
  void come_inside_alone();

  void leave() noexcept { number_.store(own_number() + 1, std::memory_order_release); }  // edge `left`
  void leave_alone() noexcept;

  /// Inside: whether nobody else is.
  [[nodiscard]] bool without_others() const noexcept { return solo_; }

  /// This thread, outside, now and then: goes to solo mode, where nobody else seems to run transactions.
  void look_for_solo(std::int64_t now_ns) noexcept;

  /// Any thread: somebody has reason to think that it will pay off now, whatever came of it before.
  static void try_solo_soon() noexcept;

  [[nodiscard]] std::uint64_t bit() const noexcept { return bit_; }
  /// Any thread. Edge `left` in.
  [[nodiscard]] std::uint64_t number() const noexcept { return number_.load(std::memory_order_acquire); }

  /// Any thread: the heavy half of the fence.
  static void look_at_all() noexcept;

  participant* next = nullptr;  // in the registry; from the start, for ever
  bool in_use = true;           // under its lock

 private:
  /// The number odd, then the mode.
  [[nodiscard, gnu::always_inline]] word announce(std::uint64_t number) noexcept {
    if (light_) [[likely]] {
      number_.store(number + 1, std::memory_order_release);  // edge `left` once more
      asymmetric_fence::light();
    } else {
      // release: edge `left` once more. An exchange: ThreadSanitizer's trees leave the fence out.
      number_.exchange(number + 1, std::memory_order_seq_cst);
      asymmetric_fence::symmetric();
    }
    return the_mode.now.load(std::memory_order_seq_cst);  // edge `mode` in; seq_cst: the same instruction on x86-64
  }
  [[nodiscard]] bool change(word from, word to) noexcept;

  std::atomic<std::uint64_t> number_{0};
  const word solo_mode_;
  const std::uint64_t bit_;
  bool solo_ = false;
  const bool light_ = asymmetric_fence::usable();
  word mode_ = no_mode;            // the one that it was in when last inside
  std::uint64_t others_seen_ = 0;  // the sum of the others' numbers at the last look
};

}  // namespace stm::detail
}  // namespace v1
}  // namespace shunt
