/// Question: how far apart are the first two processors at this moment, and how many instructions does each hold in
/// flight?
///
/// Two pinned threads pass one cache line back and forth; the answer is the round trip, the median
/// of some thousands of short runs' means. A hypervisor moves virtual processors: on one machine
/// the answer changes within minutes between about 100 ns and 450 ns, and every table with it.
/// Hence the driver asks before each repetition.
///
/// The instructions in flight (window.hpp) tell whether another hardware thread shares a processor's core.
///
/// Prints {"round_trip_ns": x, "instruction_windows": [n, ...]}. With one processor only the round trip is null, and so
/// is a window that is not known.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <vector>

#include "team.hpp"
#include "window.hpp"

namespace {

/// Nanoseconds, between the first two processors.
double round_trip() {
  constexpr int runs = 200;
  constexpr int trips = 100;  // short: a preempted run spoils one of many
  alignas(bench::line) std::atomic<int> ball{0};
  std::vector<double> means;
  bench::run_team(2, [&](int pe) {
    using clock = std::chrono::steady_clock;
    for (int run = 0; run < runs; ++run) {
      const auto start = clock::now();
      for (int trip = 0; trip < trips; ++trip) {
        const int mine = 2 * (run * trips + trip) + pe;
        while (ball.load(std::memory_order_acquire) != mine) {
        }
        ball.store(mine + 1, std::memory_order_release);
      }
      if (pe == 0) {
        const std::chrono::duration<double, std::nano> took = clock::now() - start;
        means.push_back(took.count() / trips);
      }
    }
  });
  std::nth_element(means.begin(), means.begin() + runs / 2, means.end());
  return means[runs / 2];
}

/// One after the other: the question is what others do to a processor, not what this program does.
std::vector<int> windows(int processors) {
  std::vector<int> found(static_cast<std::size_t>(processors));
  for (int one = 0; one < processors; ++one) {
    bench::run_team(processors, [&](int pe) {
      if (pe == one) found[static_cast<std::size_t>(pe)] = bench::instruction_window();
    });
  }
  return found;
}

}  // namespace

int main() {
  const int processors = static_cast<int>(std::min<std::size_t>(bench::allowed_processors().size(), 2));
  if (processors < 2) {
    std::printf("{\"round_trip_ns\": null");
  } else {
    std::printf("{\"round_trip_ns\": %.1f", round_trip());
  }
  const char* between = ", \"instruction_windows\": [";
  for (const int window : windows(processors)) {
    if (window == 0) {
      std::printf("%snull", between);
    } else {
      std::printf("%s%d", between, window);
    }
    between = ", ";
  }
  std::puts("]}");
}
