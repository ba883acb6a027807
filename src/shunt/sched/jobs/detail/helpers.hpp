/// A worker's share in forked jobs: when it looks for them, and the fibers that run them.
///
/// A helper is a fiber that steals jobs and runs them until there is none, or the worker has other fibers to run. An
/// idle worker starts a helper when it sees a job, in its own ring too: the job's forker may be parked. The helper may
/// park as well, in the middle of a job; then the next helper starts.
///
/// Owner only: the worker's thread.
#pragma once

namespace shunt {
inline namespace v1 {
namespace sched {

class job;

namespace detail {

class worker;
struct fiber;

struct helpers {
  helpers() = delete;

  /// A loop that has nothing else to do. \return whether there was a job.
  static bool start(worker& w) noexcept;
  /// The maintenance: a fiber may yield in a loop until its own job has run. \return whether a helper will start.
  static bool start_soon(worker& w) noexcept;
  /// Before the worker sleeps, after it has entered itself among the sleepers: from now on the next push into any ring
  /// wakes a sleeper. \return whether there is a job now.
  static bool ask_for_jobs(worker& w) noexcept;
  /// A helper that has not started, in no queue; nullptr: no memory, then the forkers run their jobs themselves.
  [[nodiscard]] static fiber* make(worker& w) noexcept;

 private:
  [[nodiscard]] static bool any_job(const worker& w) noexcept;
  static void run_jobs(worker& w) noexcept;
  [[nodiscard]] static job* steal(worker& w) noexcept;
};

}  // namespace detail
}  // namespace sched
}  // namespace v1
}  // namespace shunt
