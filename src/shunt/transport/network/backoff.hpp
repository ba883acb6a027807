/// How long a thread that waits for the network sleeps between two looks.
#pragma once

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <thread>

namespace shunt {
inline namespace v1 {
namespace transport {
namespace network {

/// The shortest sleep between two polls of an idle process: about what a wake-up costs.
constexpr std::chrono::nanoseconds shortest_sleep = std::chrono::microseconds(20);
/// The longest one: a poll takes some 5 us, so it leaves an idle process well below 1 % of a CPU.
constexpr std::chrono::nanoseconds longest_sleep = std::chrono::milliseconds(1);

/// The pauses of one wait in a collective call: the first 32 yield the core, later ones sleep longer and longer.
class backoff {
 public:
  /// The next pause.
  void operator()() noexcept {
    if (pauses_ < 32) {
      sched_yield();
    } else {
      std::this_thread::sleep_for(
          std::min<std::chrono::nanoseconds>(longest_sleep, shortest_sleep * (1 << std::min(6, (pauses_ - 32) / 8))));
    }
    if (pauses_ < 1'000) ++pauses_;
  }

 private:
  int pauses_ = 0;
};

}  // namespace network
}  // namespace transport
}  // namespace v1
}  // namespace shunt
