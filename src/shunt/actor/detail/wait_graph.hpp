/// Which actor's handler waits for which other actor, and circles among them.
///
/// An edge A -> B: A's handler waits, without a deadline, for B's answer, or for room in B's mailbox. Both come only
/// when B handles its next message, hence after B's present handler: so a circle of edges that hold never ends. An edge
/// holds while its answer has not come, or its message has not been placed. Edges are made and taken away under one
/// lock, and both questions are asked under it. The fiber that closes a circle sees all of it, and gets the error.
#pragma once

#include <mutex>

#include <shunt/base/call_site.hpp>
#include <shunt/sched/waiter.hpp>
#include <shunt/task/future.hpp>

namespace shunt {
inline namespace v1 {
namespace actor::detail {

using task::detail::one_event;

struct actor_cell;

/// What an actor that waits amid a handler waits for. Other threads read it under the lock.
struct wait_edge {
  actor_cell* on = nullptr;             // null: it does not wait for an actor
  const one_event* answer = nullptr;    // either its answer,
  const sched::waiter* room = nullptr;  // or room in its mailbox
  sched::waker fiber{};                 // the handler's
  actor_cell* next = nullptr;           // in the list of actors that wait; for reports
  actor_cell* before = nullptr;
};

/// Under it edges come and go, and circles are looked for. Taken before a dispatcher's gate.
[[nodiscard]] std::mutex& wait_graph_lock() noexcept;
/// Under that lock. If the caller is a handler, its actor waits for that from now on, until end_wait().
/// \throws sched::deadlock if it would wait for itself, perhaps through other actors; then it does not wait.
void begin_wait(const wait_edge& edge, call_site call);
/// Takes the lock.
void end_wait() noexcept;

}  // namespace actor::detail
}  // namespace v1
}  // namespace shunt
