#include <shunt/actor/detail/mailboxes.hpp>

#include <string>

#include <shunt/actor/detail/actor_system.hpp>
#include <shunt/actor/detail/dispatcher.hpp>

namespace shunt {
inline namespace v1 {
namespace actor::detail {

/// The message in an envelope of this dispatcher. `m` is empty then. \throws std::bad_alloc, before
envelope* mailboxes::envelope_for(envelope& m) {
  envelope* const e = of_.envelopes_.take(of_.store_);
  m.move_to(*e);
  return e;
}

/// Whether there is room for a message that is not exempt. If so, and if the actor is queued, it has a vacant envelope
/// then. \throws std::bad_alloc
inline bool mailboxes::make_vacant(actor_cell& c) {
  if (c.state == cell_state::direct) of_.ready_.queue_direct(c);
  if (c.state != cell_state::queued || c.vacant != nullptr) return true;
  return of_.backpressure_.add_vacant(c);
}

bool mailboxes::make_vacant_for(actor_cell& c, std::int64_t messages) {
  if (c.state == cell_state::direct) of_.ready_.queue_direct(c);
  return of_.backpressure_.add_vacant_for(c, messages);
}

envelope* mailboxes::place(actor_cell& c, std::uint32_t incarnation) {
  if (c.incarnation != incarnation || c.state == cell_state::idle) return nullptr;
  return make_vacant(c) ? c.place() : nullptr;
}

/// The actor is not idle, or has ended. If its mailbox has a place, the message moves there. Else it goes the whole way
/// from the caller's frame, as the caller may wait, and go on on another thread.
void mailboxes::tell(actor_cell& c, envelope* e, call_site call) {
  try {
    if (envelope* const to = place(c, e->incarnation())) {
      e->move_to(*to);
      return of_.give_back(*e);
    }
  } catch (...) {  // no memory for its place
    lose(*e);
    of_.give_back(*e);
    throw;
  }
  envelope m;
  e->move_to(m);
  of_.give_back(*e);
  m.to = &c;
  dispatcher::send(m, call);
}

void lose(envelope& m) noexcept { m.ops->drop(m, {{}, m.ops->method, "it could not be sent"}); }

/// \return whether the message has left the caller's frame; if not, the caller tries again.
bool mailboxes::send(envelope& m, call_site call) {
  actor_cell& c = *m.to;
  if (c.incarnation != m.incarnation()) {
    of_.system_.end_dead(m, {}, actor_has_ended);
    return true;
  }
  if (!make_vacant(c)) {
    switch (c.when_full.load(std::memory_order_relaxed)) {  // relaxed: this thread's
      case overflow::drop_newest: of_.system_.end_dead(m, c.name(), mailbox_is_full); return true;
      case overflow::drop_oldest: of_.backpressure_.drop_oldest(c); break;
      case overflow::fail:
        throw mailbox_full(error_number(504),
                           std::string(call.name()) + ": the mailbox of actor `" + std::string(c.name()) +
                               "` is full: " + std::to_string(c.capacity - c.room) + " messages" + call.place(),
                           call.where());
      case overflow::suspend: of_.backpressure_.declare_full(c); return backpressure::wait_for_room(m, call);
    }
  }
  if (c.state == cell_state::idle) {
    of_.tell_idle(c, envelope_for(m));  // may throw
  } else {
    deliver(c, m);
  }
  return true;
}

/// A message for an actor of this dispatcher, in any state, with room or without. `m` is empty then.
void mailboxes::deliver(actor_cell& c, envelope& m) noexcept {
  if (c.state == cell_state::idle) return of_.tell_idle(c, envelope_for(m));
  if (make_vacant(c)) return m.move_to(*c.place());
  envelope* const e = envelope_for(m);
  c.append(e, e);
  --c.room;
}

}  // namespace actor::detail
}  // namespace v1
}  // namespace shunt
