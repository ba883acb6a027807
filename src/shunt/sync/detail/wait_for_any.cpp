#include <shunt/sync/detail/wait_for_any.hpp>

#include <shunt/base/clock.hpp>
#include <shunt/sched/fiber.hpp>
#include <shunt/sched/runtime.hpp>

namespace shunt {
inline namespace v1 {
namespace sync {
namespace detail {

/// Multiplies, and does not count: fibers that take turns on one thread would get the same places each time.
int first_of(int cases) noexcept {
  const auto ways = static_cast<std::uint64_t>(cases);
  if (sched::this_worker::controlled()) return static_cast<int>(sched::this_worker::choose(ways));
  thread_local std::uint64_t state = 0;
  state = state * 6364136223846793005 + 1442695040888963407;
  return static_cast<int>((state >> 33) % ways);
}

void let_others_work(int pauses) {
  const bool others = sched::this_worker::has_runnable();
  if (sched::this_fiber::inside()) sched::this_fiber::yield();  // polls as well
  for (int pause = 0; !others && pause < pauses; ++pause) relax();
}

}  // namespace detail
}  // namespace sync
}  // namespace v1
}  // namespace shunt
