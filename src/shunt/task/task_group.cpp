#include <shunt/task/task_group.hpp>

namespace shunt {
inline namespace v1 {
namespace task {

task_group::task_group(std::stop_token outer) : scope_("task_group"), from_outside_(std::move(outer), stopper{stop_}) {}

task_group::~task_group() {
  stop_.request_stop();
  scope_.wait_stopped("task_group");
}

/// Waits in two parts, so that a stop in the middle of the wait begins the time after which a report is due.
void task_group::wait() {
  constexpr auto never = std::chrono::steady_clock::time_point::max();
  if (!scope_.wait_until("task_group::wait", never, stop_.get_token())) scope_.wait_stopped("task_group");
  scope_.reopen();
  scope_.rethrow();
}

bool task_group::wait_until(std::chrono::steady_clock::time_point deadline, const std::stop_token& stop) {
  if (!scope_.wait_until("task_group::wait_until", deadline, stop)) return false;
  scope_.reopen();
  scope_.rethrow();
  return true;
}

}  // namespace task
}  // namespace v1
}  // namespace shunt
