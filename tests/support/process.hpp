/// What tests of a whole process share: the time it used, and a way to end it.
#pragma once

#include <ctime>

namespace shunt::testing {

/// Processor time of all threads of this process so far, in the kernel too.
inline double cpu_seconds() {
  timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

/// Runs off the end of a stack of less than 2 MB. A frame is half a page, and no compiler may fold
/// several into one: none leaps over the guard.
[[gnu::noinline]] inline int dig(int depth = 1000) {
  char half_a_page[2048];
  asm volatile("" : : "r"(&half_a_page[0]) : "memory");  // the frame must exist, and be written
  half_a_page[0] = static_cast<char>(depth);
  const int deeper = depth == 0 ? 0 : dig(depth - 1);
  asm volatile("" : : "r"(&half_a_page[0]) : "memory");
  return deeper + half_a_page[0];
}

}  // namespace shunt::testing
