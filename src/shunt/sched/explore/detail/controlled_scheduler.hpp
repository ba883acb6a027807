/// The loop of a worker for which a strategy decides: what it has beside the worker's queues. See strategy.hpp.
///
/// Simpler than the usual loop: nothing here has to be fast, or fair. Owner only: the worker's thread.
#pragma once

#include <atomic>
#include <chrono>
#include <string>
#include <vector>

#include <shunt/sched/detail/fiber.hpp>
#include <shunt/sched/explore/strategy.hpp>
#include <shunt/sched/fiber.hpp>

namespace shunt {
inline namespace v1 {
namespace sched {
namespace detail {

class worker;

class controlled_scheduler {
 public:
  explicit controlled_scheduler(sched::strategy& s) noexcept : strategy(s) {}

  /// The worker's loop, until all fibers have ended.
  void loop(worker& w) noexcept;

  sched::strategy& strategy;
  std::chrono::steady_clock::time_point now{std::chrono::hours(1)};
  fiber* stopped = nullptr;   // has called interleave(), and would go on
  bool helper_waits = false;  // a helper that has not begun: it will take all jobs that it finds
  std::vector<fiber*> ready;  // all that can go on, in order of arrival

 private:
  bool gather(worker& w) noexcept;
  void collect(worker& w) noexcept;
  [[nodiscard]] fiber* choose(worker& w) noexcept;

  std::vector<fiber_id> asked_;  // `ready`, for the strategy
};

/// While one lives with `is`, other code asks whether a strategy decides for it.
class controlled_run {
 public:
  // relaxed: the worker that the strategy decides for is this thread, or begins after it; other threads may ask in vain
  explicit controlled_run(bool is) noexcept : is_(is) { controlled_runs.fetch_add(is, std::memory_order_relaxed); }
  ~controlled_run() { controlled_runs.fetch_sub(is_, std::memory_order_relaxed); }  // relaxed: likewise
  controlled_run(const controlled_run&) = delete;
  controlled_run& operator=(const controlled_run&) = delete;

 private:
  const int is_;
};

}  // namespace detail
}  // namespace sched
}  // namespace v1
}  // namespace shunt
