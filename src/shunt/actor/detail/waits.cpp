/// Which actor's handler waits for which other actor, and circles among them.
///
/// An edge A -> B: A's handler waits, without a deadline, for B's answer, or for room in B's mailbox. Both come only
/// when B handles its next message, hence after the handler in which B is: so a circle of edges that hold never ends.
/// An edge holds while its answer has not come, or its message has not been placed: both are asked for under the
/// lock, under which alone edges are made and taken away. Whoever closes a circle sees all of it, and is told.
#include <ctime>
#include <shunt/actor/detail/station.hpp>
#include <shunt/sched/observe/deadlock.hpp>
#include <shunt/sched/fiber_local.hpp>
#include <shunt/sched/observe/report_notes.hpp>
#include <string>

namespace shunt {
inline namespace v1 {
namespace detail::typed {
namespace {

constexpr std::size_t most_names = 19;  // of a circle, beside the one that closes it

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

cell* waiting = nullptr;  // all whose edge is set; under the lock

/// For a report: which actor a handler waits for; note_work() tells whose handler it is. An actor's name is read only
/// while a handler of it waits, hence neither returns nor ends it: so only then is it told.
void note_waits(sched::detail::wait_notes& to);

void end(cell& c) noexcept {
  if (c.edge.on == nullptr) return;
  (c.edge.before == nullptr ? waiting : c.edge.before->edge.next) = c.edge.next;
  if (c.edge.next != nullptr) c.edge.next->edge.before = c.edge.before;
  c.edge = {};
}

void begin(cell& c, const wait_edge& edge) {
  [[maybe_unused]] static const bool once = (sched::detail::add_note_source(note_waits), true);
  end(c);
  c.edge = edge;
  c.edge.who = sched::this_fiber::self();
  c.edge.next = waiting;
  if (waiting != nullptr) waiting->edge.before = &c;
  waiting = &c;
}

std::string step(const cell& c) {
  return std::string(c.edge.answer != nullptr ? " waits for an answer of " : " waits for room in the mailbox of ") +
         called(*c.edge.on);
}

void note_waits(sched::detail::wait_notes& to) {
  const std::scoped_lock held(wait_graph());
  for (const cell* c = waiting; c != nullptr; c = c->edge.next) {
    if (!holds(c->edge)) continue;
    const char* const what = c->edge.answer != nullptr ? ", for an answer of " : ", for room in the mailbox of ";
    const bool other_waits = c->edge.on->edge.on != nullptr;
    to[sched::detail::fiber::behind(c->edge.who)] =
        what + (other_waits ? called(*c->edge.on) : "an actor that does not wait");
  }
}

/// For a report, see work_note: what the fiber of `e` works on. Amid a change of the mailbox its numbers may be wrong.
void note_work(const sched::detail::work_note& self, std::uint32_t now_ms, sched::detail::note_text& to) noexcept {
  constexpr std::int64_t most_links = 1024;  // that are followed; more than a turn handles, or a train brings
  const auto& e = static_cast<const engine&>(self);
  cell* const c = e.busy;
  if (c == nullptr) return;
  const slot* const message = c->at != &c->front ? static_cast<const slot*>(c->at) : e.direct;
  const kind* const what = message == nullptr ? nullptr : message->what;
  const auto name = c->called();
  if (c->about == nullptr) {
    to << "an actor that ends";
  } else if (name.empty()) {
    to << "an actor without a name";
  } else {
    to << "actor `" << name.substr(0, 100) << (name.size() > 100 ? "...`" : "`");
  }
  if (what != nullptr) to << ", in " << what->method.substr(0, 80);
  // Neither what this turn has handled, nor vacant slots.
  std::int64_t begun = 0;
  for (const link* s = &c->front; s != c->at && s != nullptr && begun < most_links; s = s->next) ++begun;
  std::int64_t waits = 0;
  if (c->is == state::queued) {
    waits = c->length() - begun;
    std::int64_t vacant = 0;
    for (const slot* s = c->vacant; s != nullptr && vacant < most_links; s = s->next) ++vacant;
    waits -= vacant;
  }
  if (waits <= 0) {
    to << ", none waits in its mailbox";
    return;
  }
  to << ", " << waits << (waits == 1 ? " waits in its mailbox" : " wait in its mailbox");
  if (c->full.load(std::memory_order_relaxed)) to << ", which is full";  // relaxed: written by this thread
  if (c->home->directed()) return;                                       // its time is none that the marks know
  if (c->marked > begun) {
    to << ", the oldest for at least ";
    to.seconds(static_cast<std::int32_t>(now_ms - c->marked_at));
  } else {
    c->mark(begun + waits);  // for the next report
  }
}

}  // namespace

void cell::mark(std::int64_t messages) noexcept {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);  // some ns
  marked_at = static_cast<std::uint32_t>(now.tv_sec) * 1000U + static_cast<std::uint32_t>(now.tv_nsec / 1'000'000);
  marked = messages;
}

std::mutex& wait_graph() noexcept {
  static std::mutex m;
  return m;
}

engine_of_this_fiber_is::engine_of_this_fiber_is(engine& e) {
  *engine_of_this_fiber() = &e;
  e.write = note_work;
  sched::detail::set_work_of_this_fiber(&e);
}

engine_of_this_fiber_is::~engine_of_this_fiber_is() {
  sched::detail::set_work_of_this_fiber(nullptr);
  *engine_of_this_fiber() = nullptr;
}

void no_handler_of(const cell& c) noexcept {
  if (!sched::this_fiber::inside()) return;
  engine* const e = *engine_of_this_fiber();
  if (e != nullptr && e->busy == &c) e->busy = nullptr;
}

cell* cell_of_this_fiber() {
  if (!sched::this_fiber::inside()) return nullptr;
  const engine* const e = *engine_of_this_fiber();
  return e == nullptr ? nullptr : e->busy;
}

void now_waits(const wait_edge& edge, const char* call) {
  cell* const me = cell_of_this_fiber();
  if (me == nullptr) return;
  begin(*me, edge);
  const cell* at = me;
  do {
    if (!holds(at->edge)) return;
    at = at->edge.on;
  } while (at != me);
  std::string text = std::string(call) + ": deadlock: actor " + called(*me) + step(*me);
  std::size_t others = 0;
  for (at = me->edge.on; at != me; at = at->edge.on) ++others;
  at = me->edge.on;
  for (std::size_t told = 0; at != me; at = at->edge.on, ++told) {
    if (told >= most_names && others > most_names + 1) {
      text += ", which waits for the first of " + std::to_string(others - told) + " more, the last of which";
      while (at->edge.on != me) at = at->edge.on;
      text += step(*at);
      break;
    }
    text += ", which" + step(*at);
  }
  end(*me);
  throw sched::deadlock(text);
}

void waits_no_more() noexcept {
  cell* const me = cell_of_this_fiber();
  if (me == nullptr) return;
  const std::scoped_lock held(wait_graph());
  end(*me);
}

bool cell::wait_begins(const task::detail::one_event& e, const char* call) {
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
