#include <shunt/actor/detail/wait_graph.hpp>

#include <cstddef>
#include <string>

#include <shunt/actor/detail/actor_cell.hpp>
#include <shunt/actor/detail/handler_fiber.hpp>
#include <shunt/sched/observe/deadlock.hpp>
#include <shunt/sched/observe/report_notes.hpp>

namespace shunt {
inline namespace v1 {
namespace actor::detail {
namespace {

constexpr std::size_t most_names = 19;  // of a circle, beside the actor that closes it

actor_cell* waiting = nullptr;  // all actors whose edge is set; under the lock

/// Under the lock. Whether the answer has not come, or the message has not been placed.
bool holds(const wait_edge& e) noexcept {
  return e.on != nullptr && (e.answer != nullptr ? !e.answer->happened() : !e.room->woken());
}

std::string called(const actor_cell& c) {
  if (c.name().empty()) return "an actor without a name";
  return '`' + std::string(c.name()) + '`';
}

std::string step(const actor_cell& c) {
  return std::string(c.edge.answer != nullptr ? " waits for an answer of " : " waits for room in the mailbox of ") +
         called(*c.edge.on);
}

/// For a report: which actor a handler waits for; note_work() tells whose handler it is. An actor's name is read only
/// while a handler of it waits, hence neither returns nor ends it: so the report names only such actors.
void note_waits(sched::detail::wait_notes& to) {
  const std::scoped_lock held(wait_graph_lock());
  for (const actor_cell* c = waiting; c != nullptr; c = c->edge.next) {
    if (!holds(c->edge)) continue;
    const char* const what = c->edge.answer != nullptr ? ", for an answer of " : ", for room in the mailbox of ";
    const bool other_waits = c->edge.on->edge.on != nullptr;
    to[sched::detail::fiber::behind(c->edge.fiber)] =
        what + (other_waits ? called(*c->edge.on) : "an actor that does not wait");
  }
}

void remove_edge(actor_cell& c) noexcept {
  if (c.edge.on == nullptr) return;
  (c.edge.before == nullptr ? waiting : c.edge.before->edge.next) = c.edge.next;
  if (c.edge.next != nullptr) c.edge.next->edge.before = c.edge.before;
  c.edge = {};
}

void add_edge(actor_cell& c, const wait_edge& edge) {
  [[maybe_unused]] static const bool once = (sched::detail::add_note_source(note_waits), true);
  remove_edge(c);
  c.edge = edge;
  c.edge.fiber = sched::this_fiber::self();
  c.edge.next = waiting;
  if (waiting != nullptr) waiting->edge.before = &c;
  waiting = &c;
}

/// The circle that `me` closes, with some twenty names.
std::string text_of_circle(const actor_cell& me, call_site call) {
  std::string text = std::string(call.name()) + ": deadlock: actor " + called(me) + step(me);
  std::size_t others = 0;
  const actor_cell* at = nullptr;
  for (at = me.edge.on; at != &me; at = at->edge.on) ++others;
  at = me.edge.on;
  for (std::size_t told = 0; at != &me; at = at->edge.on, ++told) {
    if (told >= most_names && others > most_names + 1) {
      text += ", which waits for the first of " + std::to_string(others - told) + " more, the last of which";
      while (at->edge.on != &me) at = at->edge.on;
      text += step(*at);
      break;
    }
    text += ", which" + step(*at);
  }
  return text + call.place();
}

}  // namespace

std::mutex& wait_graph_lock() noexcept {
  static std::mutex m;
  return m;
}

/// Enters the edge, and follows the edges that hold. If they lead back, the caller closes a circle.
void begin_wait(const wait_edge& edge, call_site call) {
  actor_cell* const me = actor_of_this_fiber();
  if (me == nullptr) return;
  add_edge(*me, edge);
  const actor_cell* at = me;
  do {
    if (!holds(at->edge)) return;
    at = at->edge.on;
  } while (at != me);
  const auto text = text_of_circle(*me, call);
  remove_edge(*me);
  throw sched::deadlock(error_number(119), text, call.where());
}

void end_wait() noexcept {
  actor_cell* const me = actor_of_this_fiber();
  if (me == nullptr) return;
  const std::scoped_lock held(wait_graph_lock());
  remove_edge(*me);
}

}  // namespace actor::detail
}  // namespace v1
}  // namespace shunt
