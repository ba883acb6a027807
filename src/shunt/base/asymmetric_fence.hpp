/// A pair of fences of which one side, the frequent one, pays nothing.
///
///   side       often: a = 1; light(); read b         seldom: b = 1; heavy(); read a
///   promise    at least one of the two reads sees the other side's store
///
/// Pair `crossed`: light() on the one side and heavy() on the other, or symmetric() on both.
///
/// light() keeps the compiler from reordering, and no more. heavy() makes the kernel run a full fence on every CPU that
/// runs a thread of this process (membarrier, private expedited), at some point of the other thread's program order. If
/// that point lies before the other thread's store, it lies before its read too, and the read sees b. Else the caller
/// of heavy() sees a.
///
/// The C++ memory model does not know such fences (a proposal: P1202), nor does ThreadSanitizer. There, and where the
/// kernel refuses, asymmetric_fence::usable() is false, and both sides use sequentially consistent operations, or
/// fences, instead.
///
/// Source: Dice, Huang, Yang: Asymmetric Dekker synchronization. 2001; membarrier(2).
#pragma once

#include <atomic>

#include <shunt/base/sanitizers.hpp>

namespace shunt {
inline namespace v1 {

/// The two sides of the fence, and what stands in for them where there is none. Static functions only.
struct asymmetric_fence {
  /// Any thread. The first call asks the kernel, and registers the process.
  [[nodiscard]] static bool usable() noexcept;

  /// Any thread, on the frequent side, if usable(). Cost: none.
  static void light() noexcept { std::atomic_signal_fence(std::memory_order_seq_cst); }  // pair `crossed`

  /// Any thread, on the other side, if usable(). Cost: a system call and an interrupt for each CPU concerned: 0.5 to
  /// 10 us.
  static void heavy() noexcept;

  /// Any thread, on both sides, if not usable(): between the store and the read, where these are not both sequentially
  /// consistent. ThreadSanitizer knows no fences, and gcc takes none there: the caller's store is a read-modify-write
  /// under it. That is a fence on x86. It is none on AArch64, where a later load may pass its store; there the
  /// instruction is written out.
  static void symmetric() noexcept {
#if !defined(SHUNT_TSAN)
    std::atomic_thread_fence(std::memory_order_seq_cst);  // pair `crossed`
#elif defined(__aarch64__)
    asm volatile("dmb ish" ::: "memory");  // pair `crossed`
#endif
  }
};

}  // namespace v1
}  // namespace shunt
