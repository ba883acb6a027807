/// Finds fibers that keep their worker for too long: options::stall_after, options::blocked_after.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <span>

namespace shunt {
inline namespace v1 {
namespace sched {
namespace detail {

class shared;
class worker;

/// Whether stalls of its fibers are to be reported.
[[nodiscard]] bool looks_for_stalls(const shared& of) noexcept;
/// How often the monitor looks for them, while a worker is awake; max(): never.
[[nodiscard]] std::chrono::nanoseconds time_between_looks(const shared& of) noexcept;

/// The monitor's thread.
class stall_finder {
 public:
  /// Looks at each worker of these runtimes once, and reports those that one fiber has kept for too long. The caller
  /// holds the registry's lock. \throws std::bad_alloc
  void look(std::span<shared* const> runtimes);

 private:
  /// A fiber that is between the same two switches as at the last look.
  struct busy_fiber {
    std::uint64_t beat = 0;
    std::chrono::nanoseconds used{-1};               // CPU time of its thread as of the last look; negative: not known
    std::chrono::steady_clock::time_point first{};   // of the looks that found this beat
    std::chrono::steady_clock::time_point asleep{};  // of those that also found this CPU time
    int sleeps = 0;                                  // so many of them after the first
    int looks = 0;                                   // so many that found this beat, after the first
    bool told_stall = false;
    bool told_block = false;
  };

  void look_at(shared& s, worker& w);

  std::map<const worker*, busy_fiber> last_;
};

}  // namespace detail
}  // namespace sched
}  // namespace v1
}  // namespace shunt
