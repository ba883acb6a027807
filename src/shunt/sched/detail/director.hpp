/// What a worker has beside its queues while a chooser decides. See chooser.hpp.
#pragma once

#include <atomic>
#include <chrono>
#include <vector>

#include <shunt/sched/chooser.hpp>
#include <shunt/sched/detail/fiber.hpp>
#include <shunt/sched/fiber.hpp>

namespace shunt {
inline namespace v1 {
namespace sched {
namespace detail {

struct director {
  explicit director(chooser& c) noexcept : decides(c) {}

  chooser& decides;
  std::chrono::steady_clock::time_point now{std::chrono::hours(1)};
  fiber* stopped = nullptr;     // has come to a point, and would go on
  bool helper_waits = false;    // one that has not begun: it takes all jobs that it finds
  std::vector<fiber*> ready;    // all that can go on, in order of arrival
  std::vector<fiber_id> asked;  // the same, for the chooser
};

/// While it lives, others ask whether a chooser decides for them. relaxed: the worker that it decides for is this
/// thread, or begins after it; others may ask in vain.
class directed {
 public:
  explicit directed(bool is) noexcept : is_(is) { directed_runs.fetch_add(is, std::memory_order_relaxed); }
  ~directed() { directed_runs.fetch_sub(is_, std::memory_order_relaxed); }
  directed(const directed&) = delete;
  directed& operator=(const directed&) = delete;

 private:
  const int is_;
};

}  // namespace detail
}  // namespace sched
}  // namespace v1
}  // namespace shunt
