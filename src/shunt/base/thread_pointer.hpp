/// A thread_local pointer, read by instructions that this file writes.
///
/// A compiler may keep the address of a thread_local variable across calls. In a fiber that migrates meanwhile it is
/// then the address of another thread's variable. And where a compiler keeps the variable's offset on the stack, every
/// switch waits for one load more from the stack that it has just entered (sched/DESIGN.md).
#pragma once

/// Any thread. Sets `found` to the calling thread's variable.
/// \param symbol   its assembler name, a literal. The variable is a pointer, and its TLS model is initial-exec: one
///                 load more than a constant address, also in a shared library, where the default is a call. The
///                 library then needs eight bytes of the static block that the loader keeps for such use.
/// \param by_call  a function that reads it on other machines, and is never inlined
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
