/// One processor for the whole program, and what lies in its memory.
#pragma once

#include <sched.h>

#include <cstdio>
#include <cstring>

namespace bench {

/// The calling thread, and all that it starts later, stay on the processor where it runs now.
inline void stay_on_one_cpu() {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(sched_getcpu(), &set);
  sched_setaffinity(0, sizeof set, &set);
}

/// Resident bytes of this process; 0 if the kernel does not say. By its page tables: the counters
/// of /proc/self/statm may be wrong by 32 pages and more a processor.
inline long long resident_bytes() {
  std::FILE* const file = std::fopen("/proc/self/smaps_rollup", "r");
  if (file == nullptr) return 0;
  char text[256];
  long long kib = 0;
  while (std::fgets(text, sizeof text, file) != nullptr) {
    if (std::sscanf(text, "Rss: %lld kB", &kib) == 1) break;
  }
  std::fclose(file);
  return kib * 1024;
}

}  // namespace bench
