#include <shunt/actor/detail/handler_fiber.hpp>

#include <cstdint>

#include <shunt/actor/detail/dispatcher.hpp>
#include <shunt/sched/fiber_local.hpp>
#include <shunt/sched/observe/report_notes.hpp>

namespace shunt {
inline namespace v1 {
namespace actor::detail {
namespace {

/// The handler fiber that runs the calling fiber's code; null: another fiber.
sched::fiber_local<handler_fiber*>& handler_fiber_of_this_fiber() {
  static sched::fiber_local<handler_fiber*> word;
  return word;
}

constexpr std::int64_t most_links = 1024;  // that a report follows; more than a turn handles, or a train brings

/// Of messages in the mailbox: those that wait. Neither what this turn has handled, nor vacant envelopes.
/// \param begun  so many of this turn's
std::int64_t waiting_in(const actor_cell& c, std::int64_t begun) noexcept {
  if (c.state != cell_state::queued) return 0;
  std::int64_t vacant = 0;
  for (const envelope* e = c.vacant; e != nullptr && vacant < most_links; e = e->next) ++vacant;
  return c.length() - begun - vacant;
}

/// For a report, see work_note: what the handler fiber works on. During a change of the mailbox its numbers may be
/// wrong.
void note_work(const sched::detail::work_note& self, std::uint32_t now_ms, sched::detail::note_text& to) noexcept {
  const auto& f = static_cast<const handler_fiber&>(self);
  actor_cell* const c = f.running;
  if (c == nullptr) return;
  const envelope* const message = c->current != &c->front ? static_cast<const envelope*>(c->current) : f.direct;
  const message_ops* const ops = message == nullptr ? nullptr : message->ops;
  const auto name = c->name();
  if (c->about == nullptr) {
    to << "an actor that ends";
  } else if (name.empty()) {
    to << "an actor without a name";
  } else {
    to << "actor `" << name.substr(0, 100) << (name.size() > 100 ? "...`" : "`");
  }
  if (ops != nullptr) to << ", in " << ops->method.substr(0, 80);
  std::int64_t begun = 0;
  for (const envelope_link* e = &c->front; e != c->current && e != nullptr && begun < most_links; e = e->next) ++begun;
  const std::int64_t waits = waiting_in(*c, begun);
  if (waits <= 0) {
    to << ", none waits in its mailbox";
    return;
  }
  to << ", " << waits << (waits == 1 ? " waits in its mailbox" : " wait in its mailbox");
  if (c->full.load(std::memory_order_relaxed)) to << ", which is full";  // relaxed: written by this thread
  if (c->home->controlled()) return;                                     // the marks do not know its time
  if (c->marked > begun) {
    to << ", the oldest for at least ";
    to.seconds(static_cast<std::int32_t>(now_ms - c->marked_at));
  } else {
    c->mark(begun + waits);  // for the next report
  }
}

}  // namespace

current_handler_fiber::current_handler_fiber(handler_fiber& f) {
  *handler_fiber_of_this_fiber() = &f;
  f.write = note_work;
  sched::detail::set_work_of_this_fiber(&f);
}

current_handler_fiber::~current_handler_fiber() {
  sched::detail::set_work_of_this_fiber(nullptr);
  *handler_fiber_of_this_fiber() = nullptr;
}

void forget_handler_of(const actor_cell& c) noexcept {
  if (!sched::this_fiber::inside()) return;
  handler_fiber* const f = *handler_fiber_of_this_fiber();
  if (f != nullptr && f->running == &c) f->running = nullptr;
}

actor_cell* actor_of_this_fiber() {
  if (!sched::this_fiber::inside()) return nullptr;
  const handler_fiber* const f = *handler_fiber_of_this_fiber();
  return f == nullptr ? nullptr : f->running;
}

}  // namespace actor::detail
}  // namespace v1
}  // namespace shunt
