/// A fiber that runs handlers, in its own frames, one after the other.
#pragma once

#include <shunt/actor/detail/envelope.hpp>
#include <shunt/sched/observe/report_notes.hpp>
#include <shunt/sched/waker.hpp>

namespace shunt {
inline namespace v1 {
namespace actor::detail {

/// Lies in the frame of its fiber.
struct handler_fiber : sched::detail::work_note {
  sched::waker fiber;
  actor_cell* running = nullptr;  // the actor whose handler runs on it
  bool called = false;            // to go on, if idle
  handler_fiber* next_idle = nullptr;
  // For reports: the message, if the mailbox never had it; stale between handlers. Apart from `running`: side by side
  // the compiler would store both as one, by way of another register.
  const envelope* direct = nullptr;
};

/// While it lives, `f` is the handler fiber that runs the calling fiber's code; reports tell what it does.
class current_handler_fiber {
 public:
  explicit current_handler_fiber(handler_fiber& f);
  ~current_handler_fiber();
  current_handler_fiber(const current_handler_fiber&) = delete;
  current_handler_fiber& operator=(const current_handler_fiber&) = delete;
};

/// The actor whose handler runs on the calling fiber; nullptr for none.
[[nodiscard]] actor_cell* actor_of_this_fiber();
/// The actor has ended: if the calling fiber runs its handler, from now on it runs none.
void forget_handler_of(const actor_cell& c) noexcept;

}  // namespace actor::detail
}  // namespace v1
}  // namespace shunt
