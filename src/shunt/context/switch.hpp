/// An execution: one stack, and the place where the code on it stopped.
///
/// switch_to(from, to) stops the running execution as `from` and goes on where `to` stopped. It keeps four words in
/// `from`: stack pointer, frame pointer, where to go on, and one register more. The compiler has put everything else
/// that the calling function still needs on the stack, since the switch declares that it changes every other register.
/// So a switch costs what is live at that place: in a loop of two variables nothing but the four words, and the stack
/// is not touched; in a function of its own the six registers of every prologue. And unwinders find a parked
/// execution's first frame like any other: the four words are in the block, every other register is where the unwind
/// tables of pc say.
///
/// Not switched: the SSE control and status word, the x87 control word, and FPCR on AArch64. The System V ABI makes
/// their control bits the callee's too, but the pair costs about as much as the whole switch, and hardly any program
/// changes them. So the rounding mode belongs to the thread: code that changes it must put it back before it yields or
/// parks. The signal mask is not switched either; it belongs to the thread.
///
/// When the library is built with a sanitizer, every switch is announced to it (AddressSanitizer's fake stacks,
/// ThreadSanitizer's fibers).
///
/// On other machines than x86-64 and AArch64, or with CMake's SHUNT_CONTEXT_BOOST=ON, the switch is Boost.Context's
/// (link boost_context).
#pragma once

#include <cstddef>

#include <shunt/base/sanitizers.hpp>

#if !defined(SHUNT_CONTEXT_BOOST) && !((defined(__x86_64__) && !defined(__ILP32__)) || defined(__aarch64__))
/// Defined: Boost.Context switches, for want of a switch of this library's own on this machine.
#define SHUNT_CONTEXT_BOOST 1
#endif

namespace shunt {
inline namespace v1 {
namespace context {

/// Where an execution stopped. Switches read the words at these offsets; Boost.Context's reads only the first.
struct place {
  void* sp = nullptr;    ///< stack pointer, frame pointer,
  void* fp = nullptr;    ///< see `sp`
  void* pc = nullptr;    ///< where it goes on,
  void* kept = nullptr;  ///< and rbx, or x19
};

/// Owned by the code that schedules. Not moved while code runs on it or is stopped in it. Its layout does not depend on
/// sanitizers, so that mixed builds fail in none but the annotated parts.
struct execution : place {
  const void* bottom = nullptr;  ///< the stack's lowest byte, for AddressSanitizer
  std::size_t bytes = 0;         ///< the stack's size, for AddressSanitizer
  void* sanitizers = nullptr;    ///< AddressSanitizer's fake stack, or ThreadSanitizer's fiber
};

/// Bytes below a stopped execution's stack pointer that may hold variables: those of a function that calls no other
/// (System V ABI for AMD64, 3.2.2; the one for AArch64 has none).
#if defined(__x86_64__)
inline constexpr std::size_t red_zone = 128;
#else
inline constexpr std::size_t red_zone = 0;
#endif

/// Any thread. Makes `e` an execution that, when first switched to, calls `entry(argument)` on the given stack. `entry`
/// must not return and must not throw: its last act is finish_to().
/// \param low    lowest byte of the stack, which must stay mapped until finish_to()
/// \param bytes  at least 1 KiB; the rest that alignment leaves over is not used
void prepare(execution& e, void* low, std::size_t bytes, void (*entry)(void*), void* argument) noexcept;

/// The thread whose stack it is. Makes `e` stand for the calling thread's own stack, so that it can be switched from.
void adopt_thread(execution& e) noexcept;

/// After finish_to() left `e`, from another execution: releases what a sanitizer keeps of it.
void retire(execution& e) noexcept;

namespace detail {

void switch_elsewhere(execution& from, execution& to) noexcept;  // with annotations, or by Boost

#if !defined(SHUNT_CONTEXT_BOOST) && defined(__x86_64__)

// A jump, not a return: the return-stack predictor holds the address of the execution that was left, the indirect
// predictor learns the one that is entered. No push: in a function that calls no other the compiler keeps variables
// below the stack pointer. `sp` is to.sp.
[[gnu::always_inline]] inline void raw_switch(place& from, place& to, void* sp) noexcept {
  void* left = &from;
  void* entered = &to;
  asm volatile(
      "leaq 1f(%%rip), %%rax\n\t"
      "movq %%rsp, (%%rdi)\n\t"
      "movq %%rbp, 8(%%rdi)\n\t"
      "movq %%rax, 16(%%rdi)\n\t"
      "movq %%rbx, 24(%%rdi)\n\t"
      "movq 8(%%rsi), %%rbp\n\t"
      "movq 24(%%rsi), %%rbx\n\t"
      "movq %%rdx, %%rsp\n\t"
      "jmpq *16(%%rsi)\n"
      "1:\n\t"
#if defined(__CET__) && (__CET__ & 1)
      "endbr64\n\t"
#endif
      : "+D"(left), "+S"(entered), "+d"(sp)
      :
      : "rax", "rcx", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4",
        "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15",
#if defined(__AVX512F__)
        "xmm16", "xmm17", "xmm18", "xmm19", "xmm20", "xmm21", "xmm22", "xmm23", "xmm24", "xmm25", "xmm26", "xmm27",
        "xmm28", "xmm29", "xmm30", "xmm31", "k1", "k2", "k3", "k4", "k5", "k6", "k7",
#endif
        "st", "st(1)", "st(2)", "st(3)", "st(4)", "st(5)", "st(6)", "st(7)", "cc", "memory");
}

#elif !defined(SHUNT_CONTEXT_BOOST) && defined(__aarch64__)

[[gnu::always_inline]] inline void raw_switch(place& from, place& to, void* sp) noexcept {
  // In named registers: otherwise the compiler may choose those that are kept.
  register void* left asm("x0") = &from;
  register void* entered asm("x1") = &to;
  register void* top asm("x2") = sp;
  asm volatile(
      "adr x9, 1f\n\t"
      "mov x10, sp\n\t"
      "stp x10, x29, [%0]\n\t"
      "stp x9, x19, [%0, #16]\n\t"
      "ldr x29, [%1, #8]\n\t"
      "ldp x9, x19, [%1, #16]\n\t"
      "mov sp, %2\n\t"
      "br x9\n"
      "1:\n\t"
      "hint #36\n\t"  // bti j
      : "+r"(left), "+r"(entered), "+r"(top)
      :
      : "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12", "x13", "x14", "x15", "x16", "x17", "x18", "x20",
        "x21", "x22", "x23", "x24", "x25", "x26", "x27", "x28", "x30", "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7",
        "v8", "v9", "v10", "v11", "v12", "v13", "v14", "v15", "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23",
        "v24", "v25", "v26", "v27", "v28", "v29", "v30", "v31",
#if defined(__ARM_FEATURE_SVE)
        "p0", "p1", "p2", "p3", "p4", "p5", "p6", "p7", "p8", "p9", "p10", "p11", "p12", "p13", "p14", "p15",
#endif
        "cc", "memory");
}

#endif
}  // namespace detail

/// The thread that runs `from`. Stops the running execution as `from`, and goes on with `to`, another one, on the same
/// thread. Returns when a switch enters `from` again. Cost: 1 to 3 ns, see above.
[[gnu::always_inline]] inline void switch_to(execution& from, execution& to) noexcept;

#if defined(SHUNT_CONTEXT_BOOST) || defined(SHUNT_ASAN) || defined(SHUNT_TSAN)
/// Whether a switch needs no more than the two places: not where Boost.Context switches, or a sanitizer is told.
#define SHUNT_PLACES_SUFFICE 0
inline void switch_to(execution& from, execution& to) noexcept { detail::switch_elsewhere(from, to); }
#else
#define SHUNT_PLACES_SUFFICE 1
inline void switch_to(execution& from, execution& to) noexcept { detail::raw_switch(from, to, to.sp); }
/// Like switch_to, for a scheduler that keeps the place of a stopped execution elsewhere than in the execution. `sp` is
/// to.sp: a caller that has read it need not load it again.
[[gnu::always_inline]] inline void switch_places(place& from, place& to, void* sp) noexcept {
  detail::raw_switch(from, to, sp);
}
#endif
inline constexpr bool places_suffice =
    SHUNT_PLACES_SUFFICE != 0;  ///< a switch needs nothing of an execution but its place

/// Like switch_to, for the last time: no switch enters `from` again, and its stack may be reused as soon as `to` runs.
[[noreturn]] void finish_to(execution& from, execution& to) noexcept;

}  // namespace context
}  // namespace v1
}  // namespace shunt
