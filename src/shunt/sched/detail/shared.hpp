/// What the workers of one runtime share: each other, which of them sleep, and whether all fibers have ended.
///
/// Edges
///   `all over`    stop -> stopping       what the worker that found the end has seen of all fibers
///   `run after`   end of run() -> run()  an earlier run of this runtime, perhaps on another thread
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include <shunt/base/cache_line.hpp>
#include <shunt/base/error.hpp>
#include <shunt/sched/detail/fiber.hpp>
#include <shunt/sched/detail/sleepers.hpp>
#include <shunt/sched/observe/detail/late_stops.hpp>
#include <shunt/sched/observe/detail/stuck.hpp>
#include <shunt/sched/runtime.hpp>

namespace shunt {
inline namespace v1 {
namespace sched {
namespace detail {

class worker;

class shared {
 public:
  /// \param call  of the runtime's constructor, for errors
  shared(runtime& its_face, const options& wanted, call_site call = "runtime");
  ~shared();
  shared(const shared&) = delete;
  shared& operator=(const shared&) = delete;

  /// A worker that pushed a task, after the push: wakes one sleeper. \return whether one slept.
  bool offer_task() noexcept;

  /// A worker that found nothing to do. \return true once no fiber is left, and none can come. Proof in DESIGN.md, "All
  /// has ended".
  [[nodiscard]] bool all_ended() noexcept;
  [[nodiscard]] bool stopping() const noexcept {
    return stopping_.load(std::memory_order_acquire);  // acquire: edge `all over` in
  }
  /// Any thread. Fibers that have not ended, started or not; about.
  [[nodiscard]] std::size_t alive() const noexcept;
  void start();          ///< before the workers work. \throws std::bad_alloc
  void stop() noexcept;  ///< a worker: all workers leave their loops
  void end() noexcept;   ///< after the workers have worked

  // Any thread.

  void request_stop() noexcept;  ///< runtime::request_stop()
  [[nodiscard]] std::stop_token stop_token();
  /// When the monitor reports that the run has not ended; max(): never, or it was reported already.
  [[nodiscard]] std::chrono::steady_clock::time_point stop_is_late() noexcept;
  void late_stop_was_told() noexcept;

  /// Gives `text` to options::report, or writes it to stderr.
  void report(std::string_view text) const noexcept;

  /// Keeps the first exception, and asks all other fibers to stop.
  void fail(std::exception_ptr what) noexcept;

  /// A fiber could not be started, for that reason; counted for the report of a stuck run.
  void start_failed(const std::exception_ptr& why) noexcept;
  /// What a report says of such fibers; empty: there was none in this run.
  [[nodiscard]] std::string start_failures();
  /// Why a fiber cannot be started, if memory for something small is missing.
  [[nodiscard]] std::exception_ptr out_of_memory() const noexcept;

  runtime& face;
  options settings;  // workers resolved
  bool oversubscribed = false;
  std::vector<int> cpus;  // to pin to, one a worker; empty: not pinned
  std::vector<std::unique_ptr<worker>> workers;
  sleepers asleep;

  std::mutex outside_lock;  // guards outside_blocks: spawns by threads that are no workers
  fiber_caches outside_blocks;
  alignas(quiet_distance) std::atomic<std::uint64_t> spawned_outside{0};
  std::atomic<bool> in_run{false};  // edge `run after`

  std::mutex failure_lock;  // guards the three
  std::exception_ptr failure;
  std::exception_ptr start_failure;  // the first in this run
  std::size_t fibers_not_started = 0;

 private:
  std::mutex stop_lock_;                              // guards the two
  std::stop_source asked_to_stop_{std::nostopstate};  // none outside of a run
  std::chrono::steady_clock::time_point late_ = std::chrono::steady_clock::time_point::max();

  const std::exception_ptr no_memory_ =
      std::make_exception_ptr(error(error_number(120), "fiber: no memory to start it"));
  alignas(quiet_distance) std::atomic<std::uint64_t> tallies_{0};
  std::atomic<bool> stopping_{false};

 public:
  stuck_detector stuck{*this};
  late_stops late;
};

}  // namespace detail
}  // namespace sched
}  // namespace v1
}  // namespace shunt
