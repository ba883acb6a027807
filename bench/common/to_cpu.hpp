/// Binds the calling thread to one of the processors that the process may use, counted from 0.
#pragma once

#include <sched.h>

namespace bench {

inline void to_cpu(int index) {
  static const cpu_set_t usable = [] {
    cpu_set_t all;
    sched_getaffinity(0, sizeof all, &all);
    return all;
  }();
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &usable) || index-- > 0) continue;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    sched_setaffinity(0, sizeof one, &one);
    return;
  }
}

}  // namespace bench
