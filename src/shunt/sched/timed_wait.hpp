/// A wait of the running fiber that any of three things ends: a condition, a point in time, a stop request.
#pragma once

#include <chrono>
#include <concepts>
#include <cstdint>
#include <optional>
#include <stop_token>

#include <shunt/sched/fiber.hpp>

namespace shunt {
inline namespace v1 {
namespace sched {

/// What ended a wait.
enum class [[nodiscard]] wait_end : std::uint8_t { done, timed_out, stopped };

namespace this_fiber {

/// Parks the running fiber until `done()` is true, at the longest until `deadline` or until `stop` is requested to
/// stop. The thread that makes `done()` true wakes this fiber afterwards.
/// \param what  what the fiber waits for, as reports print it: see park().
/// \return `done` also if the condition became true at the deadline.
/// \throws as park_until().
template <std::predicate Done>
wait_end wait_until(const Done& done, std::chrono::steady_clock::time_point deadline, const std::stop_token& stop,
                    const char* what) {
  const auto wake = [fiber = self()] { fiber.wake(); };
  std::optional<std::stop_callback<decltype(wake)>> on_stop;
  if (stop.stop_possible()) {
    lend_frame("a wait with a stop token");
    on_stop.emplace(stop, wake);
  }
  while (!done()) {
    if (stop.stop_requested()) return wait_end::stopped;
    if (!park_until(deadline, what) && !done()) return wait_end::timed_out;
  }
  return wait_end::done;
}

}  // namespace this_fiber
}  // namespace sched
}  // namespace v1
}  // namespace shunt
