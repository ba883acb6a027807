#include <shunt/task/task_group.hpp>

namespace shunt {
inline namespace v1 {

task_group::task_group(std::stop_token outer)
    : scope_("task_group"), from_outside_(std::move(outer), stopper{stop_}) {}

task_group::~task_group() {
  stop_.request_stop();
  scope_.wait();
}

void task_group::wait() {
  scope_.wait();
  scope_.reopen();
  scope_.rethrow();
}

}  // namespace v1
}  // namespace shunt
