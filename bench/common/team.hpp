/// Pinned threads that play the PEs of the `ceiling` programs, and the barrier between them.
///
/// Invariants
///   T1  Thread p runs on the p-th processor that this process may use, and on no other.
///   T2  Waiting spins with `pause` and, after a while, yields: on a machine shared with others a
///       thread that never yields would measure the others' time slices.
#pragma once

#include <pthread.h>
#include <sched.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace bench {

inline constexpr std::size_t line = 64;

inline void relax() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// Waits until `ready()`; `ready` may do work of its own.
template <typename Ready>
void wait_until(Ready&& ready) {
  for (int spins = 0; !ready(); ++spins) {
    relax();
    if (spins > 20000) sched_yield();
  }
}

/// The processors that this process may use, in order.
inline std::vector<int> allowed_processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  sched_getaffinity(0, sizeof set, &set);
  std::vector<int> found;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &set)) found.push_back(cpu);
  }
  return found;
}

class barrier {
 public:
  explicit barrier(int members) noexcept : members_(members) {}

  /// Every member, the same number of times. What any wrote before it, all see after it.
  void arrive_and_wait() {
    const auto seen = phase_.load(std::memory_order_relaxed);
    // acq_rel: the last one's release of phase_ hands on what all others wrote before arriving.
    if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == members_) {
      arrived_.store(0, std::memory_order_relaxed);
      phase_.store(seen + 1, std::memory_order_release);
    } else {
      wait_until([&] { return phase_.load(std::memory_order_acquire) != seen; });
    }
  }

 private:
  int members_;
  alignas(line) std::atomic<int> arrived_{0};
  alignas(line) std::atomic<std::uint32_t> phase_{0};
};

/// Runs `body(pe)` on `pes` pinned threads.
/// \throws std::invalid_argument when there are fewer processors than PEs: two spinning threads on
///         one processor would not be a ceiling of anything.
template <typename Body>
void run_team(int pes, Body&& body) {
  const auto processors = allowed_processors();
  if (pes < 1 || static_cast<std::size_t>(pes) > processors.size()) {
    throw std::invalid_argument("ceiling needs a processor for each of its " + std::to_string(pes) +
                                " PEs, and finds " + std::to_string(processors.size()));
  }
  std::vector<std::thread> threads;
  for (int pe = 0; pe < pes; ++pe) {
    threads.emplace_back([&, pe] {
      cpu_set_t set;
      CPU_ZERO(&set);
      CPU_SET(processors[static_cast<std::size_t>(pe)], &set);
      pthread_setaffinity_np(pthread_self(), sizeof set, &set);
      body(pe);
    });
  }
  for (auto& thread : threads) thread.join();
}

}  // namespace bench
