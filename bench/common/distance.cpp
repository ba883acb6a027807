/// Question: how far apart are the first two processors at this moment?
///
/// Two pinned threads pass one cache line back and forth; the answer is the round trip, the median
/// of some thousands of short runs' means. A hypervisor moves virtual processors: on one machine
/// the answer changes within minutes between about 100 ns and 450 ns, and every table with it.
/// Hence the driver asks before each repetition.
///
/// Prints {"round_trip_ns": x} or, with one processor only, {"round_trip_ns": null}.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <vector>

#include "team.hpp"

int main() {
  if (bench::allowed_processors().size() < 2) {
    std::puts("{\"round_trip_ns\": null}");
    return 0;
  }
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
  std::printf("{\"round_trip_ns\": %.1f}\n", means[runs / 2]);
}
