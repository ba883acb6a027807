#include <shunt/task/task_group.hpp>

namespace shunt {
inline namespace v1 {
namespace task {

task_group::task_group(std::stop_token outer, std::source_location where)
    : scope_({"task_group", where}), made_(where), from_outside_(std::move(outer), stopper{stop_}) {}

task_group::~task_group() {
  stop_.request_stop();
  scope_.wait_stopped({"task_group", made_});
}

/// Looks first: where all tasks have ended, that is all, and legal also where waiting is not. Otherwise it waits in two
/// parts, so that a stop in the middle of the wait begins the time after which a report is due.
void task_group::wait(std::source_location where) {
  constexpr auto never = std::chrono::steady_clock::time_point::max();
  if (!scope_.try_wait() && !scope_.wait_until({"task_group::wait", where}, never, stop_.get_token())) {
    scope_.wait_stopped({"task_group", where});
  }
  scope_.reopen();
  scope_.rethrow();
}

bool task_group::wait_until(std::chrono::steady_clock::time_point deadline, const std::stop_token& stop,
                            std::source_location where) {
  if (!scope_.wait_until({"task_group::wait_until", where}, deadline, stop)) return false;
  scope_.reopen();
  scope_.rethrow();
  return true;
}

}  // namespace task
}  // namespace v1
}  // namespace shunt
