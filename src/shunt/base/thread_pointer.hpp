/// A thread's own pointer, read by instructions of ours.
///
/// Compilers keep the address of a thread_local variable across calls: in a fiber that migrates meanwhile it is then
/// another thread's. And where they keep its offset on the stack, every switch waits for one load more from the stack
/// it has just come to (7.7 against 3.5 ns).
#pragma once

/// `found = ` the calling thread's variable. \param symbol  its assembler name, a literal; the variable is a pointer,
/// and its TLS model initial-exec: one load more than a constant address, also in a shared library, where the default
/// is a call. The library then needs eight bytes of the static block that the loader keeps for such use.
/// \param by_call  reads it elsewhere: a function that is never inlined.
#if defined(__x86_64__)
#define SHUNT_READ_THREAD_POINTER(found, symbol, by_call) \
  asm volatile("movq " symbol                             \
               "@gottpoff(%%rip), %0\n\t"                 \
               "movq %%fs:(%0), %0"                       \
               : "=r"(found))
#elif defined(__aarch64__)
#define SHUNT_READ_THREAD_POINTER(found, symbol, by_call) \
  do {                                                    \
    void* shunt_thread;                                   \
    asm volatile("adrp %0, :gottprel:" symbol             \
                 "\n\t"                                   \
                 "ldr %0, [%0, #:gottprel_lo12:" symbol   \
                 "]\n\t"                                  \
                 "mrs %1, tpidr_el0\n\t"                  \
                 "ldr %0, [%0, %1]"                       \
                 : "=&r"(found), "=&r"(shunt_thread));    \
  } while (false)
#else
#define SHUNT_READ_THREAD_POINTER(found, symbol, by_call) found = (by_call)()
#endif

namespace shunt {
inline namespace v1 {

/// A number that the calling thread has and no other living thread has. Legal anywhere; in a fiber it is the number of
/// the thread that runs it now. Cost: one load or register move.
[[nodiscard, gnu::always_inline]] inline const void* thread_number() noexcept {
  const void* found;
#if defined(__x86_64__)
  asm volatile("movq %%fs:0, %0" : "=r"(found));  // the block's own address: System V ABI, TLS variant II
#elif defined(__aarch64__)
  asm volatile("mrs %0, tpidr_el0" : "=r"(found));
#else
  found = __builtin_thread_pointer();
#endif
  return found;
}

}  // namespace v1
}  // namespace shunt
