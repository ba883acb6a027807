/// Which actor's handler waits for which other actor, and circles among them.
///
/// An edge A -> B: A's handler waits, without a deadline, for B's answer, or for room in B's mailbox. Both come only
/// when B handles its next message, hence after the handler in which B is: so a circle of edges that hold never ends.
/// An edge holds while its answer has not come, or its message has not been placed: both are asked for under the
/// lock, under which alone edges are made and taken away. Whoever closes a circle sees all of it, and is told.
#include <shunt/actor/detail/station.hpp>
#include <shunt/sched/deadlock.hpp>
#include <shunt/sched/fiber_local.hpp>
#include <string>

namespace shunt {
inline namespace v1 {
namespace detail::typed {
namespace {

/// The engine whose fiber runs; null: another fiber.
sched::fiber_local<engine*>& engine_of_this_fiber() {
  static sched::fiber_local<engine*> word;
  return word;
}

bool holds(const wait_edge& e) noexcept {
  return e.on != nullptr && (e.answer != nullptr ? !e.answer->happened() : !e.room->woken());
}

std::string called(const cell& c) {
  if (c.about == nullptr || c.about->name.empty()) return "an actor without a name";
  return '`' + c.about->name + '`';
}

std::string step(const cell& c) {
  return std::string(c.edge.answer != nullptr ? " waits for an answer of " : " waits for room in the mailbox of ") +
         called(*c.edge.on);
}

}  // namespace

std::mutex& wait_graph() noexcept {
  static std::mutex m;
  return m;
}

void set_engine_of_this_fiber(engine& e) { *engine_of_this_fiber() = &e; }

cell* cell_of_this_fiber() {
  if (!sched::this_fiber::inside()) return nullptr;
  const engine* const e = *engine_of_this_fiber();
  return e == nullptr ? nullptr : e->busy;
}

void now_waits(const wait_edge& edge, const char* call) {
  cell* const me = cell_of_this_fiber();
  if (me == nullptr) return;
  me->edge = edge;
  const cell* at = me;
  do {
    if (!holds(at->edge)) return;
    at = at->edge.on;
  } while (at != me);
  std::string text = std::string(call) + ": deadlock: actor " + called(*me) + step(*me);
  for (at = me->edge.on; at != me; at = at->edge.on) text += ", which" + step(*at);
  me->edge = {};
  throw sched::deadlock(text);
}

void waits_no_more() noexcept {
  cell* const me = cell_of_this_fiber();
  if (me == nullptr) return;
  const std::scoped_lock held(wait_graph());
  me->edge = {};
}

bool cell::wait_begins(const one_event& e, const char* call) {
  // An engine of this worker answers in its turn: then nobody falls asleep and is woken, and no edge is needed.
  if (home == station::here()) {
    home->let_engines_run();
    if (e.happened()) return false;
  }
  if (cell_of_this_fiber() == nullptr) return false;
  const std::scoped_lock held(wait_graph());
  now_waits({this, &e, nullptr}, call);
  return true;
}

void cell::wait_ends() noexcept { waits_no_more(); }

}  // namespace detail::typed
}  // namespace v1
}  // namespace shunt
