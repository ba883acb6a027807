#include <shunt/actor/detail/actor_cell.hpp>

#include <ctime>

#include <shunt/actor/detail/dispatcher.hpp>

namespace shunt {
inline namespace v1 {
namespace actor::detail {

void actor_cell::mark(std::int64_t messages) noexcept {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);  // some ns
  marked_at = static_cast<std::uint32_t>(now.tv_sec) * 1000U + static_cast<std::uint32_t>(now.tv_nsec / 1'000'000);
  marked = messages;
}

void actor_cell::handler_waits() noexcept {
  set_flag(flag_handler_waited);
  if (is_marked()) return;
  marked = 0;  // none, also not of those that this turn has handled: add_envelopes() sees no difference
  if (!empty()) mark(begun() + 1);
}

/// A fiber is about to wait for an answer of this actor. If it runs on the actor's worker, a handler fiber there
/// answers first: then no fiber parks, and no edge is needed.
bool actor_cell::wait_begins(const one_event& e, call_site call) {
  if (home == dispatcher::here()) {
    home->let_handlers_run();
    if (e.happened()) return false;
  }
  if (actor_of_this_fiber() == nullptr) return false;
  const std::scoped_lock held(wait_graph_lock());
  begin_wait({this, &e, nullptr}, call);
  return true;
}

void actor_cell::wait_ends() noexcept { end_wait(); }

}  // namespace actor::detail
}  // namespace v1
}  // namespace shunt
