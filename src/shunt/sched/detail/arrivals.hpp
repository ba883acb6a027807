/// What a worker does with what lies in its inbox. The worker's own thread, in its loop.
#pragma once

namespace shunt {
inline namespace v1 {
namespace sched {
namespace detail {

class worker;
struct fiber;

/// A wake that another thread has posted.
void wake_posted(worker& w, fiber& f) noexcept;

/// A fiber that was sent goes into the queue that it belongs to. \return whether it is a task now.
bool take_in(worker& w, fiber& f) noexcept;

}  // namespace detail
}  // namespace sched
}  // namespace v1
}  // namespace shunt
