/// An execution: one stack, and the place where the code on it stopped.
///
/// switch_to(from, to) stops the running execution as `from` and goes on where `to` stopped. It
/// saves the stack pointer in `from`, and on the stack what the ABI makes the callee's.
///
/// Saved frame, from the saved stack pointer upwards. The layout is stable: debuggers' unwinders
/// read it (every parked fiber's backtrace can be had from its saved stack pointer alone).
///
///   x86-64, System V   r15 r14 r13 r12 rbx rbp rip                                   7 words
///   AArch64, AAPCS64   d8 d9 d10 d11 d12 d13 d14 d15 x19 .. x28 x29 x30             20 words
///
/// Not switched: the SSE control and status word and the x87 control word. The System V ABI makes
/// their control bits the callee's too, but the pair costs about as much as the whole switch, and
/// hardly any program changes them. So the rounding mode belongs to the thread: code that changes
/// it must put it back before it yields or parks. Likewise FPCR on AArch64. Nor is the signal mask,
/// which belongs to the thread.
///
/// Sanitizers are told of every switch (AddressSanitizer's fake stacks, ThreadSanitizer's fibers)
/// when the library is built with them.
///
/// Elsewhere than on x86-64 and AArch64, or with CMake's SHUNT_CONTEXT_BOOST=ON, the switch is
/// Boost.Context's (link boost_context).
#pragma once

#include <cstddef>

#if !defined(SHUNT_CONTEXT_BOOST) && \
    !((defined(__x86_64__) && !defined(__ILP32__)) || defined(__aarch64__))
#define SHUNT_CONTEXT_BOOST 1
#endif

#if defined(__SANITIZE_ADDRESS__)
#define SHUNT_ASAN 1
#endif
#if defined(__SANITIZE_THREAD__)
#define SHUNT_TSAN 1
#endif
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SHUNT_ASAN 1
#endif
#if __has_feature(thread_sanitizer)
#define SHUNT_TSAN 1
#endif
#endif

namespace shunt {
inline namespace v1 {
namespace context {

/// Owned by whoever schedules. Not moved while anything runs on it or is stopped in it. Its layout
/// does not depend on sanitizers, so that mixed builds fail in none but the annotated parts.
struct execution {
  void* sp = nullptr;          ///< saved stack pointer; meaningful while stopped
  void (*entry)(void*) = nullptr;
  void* argument = nullptr;
  const void* bottom = nullptr;  ///< the stack's lowest byte; AddressSanitizer asks
  std::size_t bytes = 0;
  void* fake_stack = nullptr;  ///< AddressSanitizer's
  void* tsan_fiber = nullptr;  ///< ThreadSanitizer's
};

/// Makes `e` an execution that, when first switched to, calls `entry(argument)` on the given stack.
/// `entry` must not return and must not throw: its last act is finish_to().
/// \param low    lowest byte of the stack, which must stay mapped until finish_to().
/// \param bytes  at least 1 KiB; what alignment leaves over is not used.
void prepare(execution& e, void* low, std::size_t bytes, void (*entry)(void*),
             void* argument) noexcept;

/// Makes `e` stand for the calling thread's own stack, so that it can be switched from.
void adopt_thread(execution& e) noexcept;

/// After finish_to() left `e`: forgets what sanitizers knew of it. Called from another execution.
void retire(execution& e) noexcept;

namespace detail {
void switch_elsewhere(execution& from, execution& to) noexcept;  // with annotations, or by Boost
#if !defined(SHUNT_CONTEXT_BOOST)
extern "C" void shunt_context_switch_v1(void** save, void* to) noexcept;
#endif
}  // namespace detail

/// Stops the running execution as `from`, goes on with `to`. Returns when something switches to
/// `from` again. Same thread throughout. Cost: about 2 ns.
inline void switch_to(execution& from, execution& to) noexcept {
#if defined(SHUNT_CONTEXT_BOOST) || defined(SHUNT_ASAN) || defined(SHUNT_TSAN)
  detail::switch_elsewhere(from, to);
#else
  detail::shunt_context_switch_v1(&from.sp, to.sp);
#endif
}

/// As switch_to, for the last time: `from` is not switched to again, and its stack may be reused
/// as soon as `to` runs.
[[noreturn]] void finish_to(execution& from, execution& to) noexcept;

}  // namespace context
}  // namespace v1
}  // namespace shunt
