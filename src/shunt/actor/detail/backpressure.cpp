#include <shunt/actor/detail/backpressure.hpp>

#include <algorithm>
#include <string>

#include <shunt/actor/detail/actor_system.hpp>
#include <shunt/actor/detail/dispatcher.hpp>

namespace shunt {
inline namespace v1 {
namespace actor::detail {

bool backpressure::add_vacant(actor_cell& c) {
  if (!c.has_room()) return false;
  // About as many as its last turn took, and twice that the next time. But one at a time where senders wait for room:
  // they are let in by the room that counts as such.
  const auto some = (c.flags & flag_senders_wait) != 0 ? 1 : std::clamp<std::int64_t>(c.room, 1, c.step);
  c.add_envelopes(some, std::min(2 * some, c.room), 1, of_.envelopes_, of_.store_);
  return true;
}

bool backpressure::add_vacant_for(actor_cell& c, std::int64_t messages) {
  if (c.has_room()) {
    messages = std::min(messages, c.room);
  } else {
    if ((c.flags & flag_senders_wait) == 0) declare_full(c);
    const auto policy = c.when_full.load(std::memory_order_relaxed);  // relaxed: this thread's
    if (policy == overflow::drop_newest || policy == overflow::drop_oldest) return false;
  }
  c.add_envelopes(messages, messages, messages, of_.envelopes_, of_.store_);
  return true;
}

void backpressure::declare_full(actor_cell& c) noexcept {
  of_.ready_.flag(c, flag_senders_wait);
  c.set_full(true);
}

void backpressure::drop_oldest(actor_cell& c) noexcept {
  envelope* const oldest = c.take_first();
  of_.system().end_dead(*oldest, c.name(), mailbox_is_full);
  of_.give_back(*oldest);
}

/// Takes as many waiting senders off the list as there is room for, unloads what they had sent before, and then places
/// their messages: first come, first served.
void backpressure::let_senders_in(actor_cell& c) noexcept {
  waiting_sender* first = nullptr;
  {
    const std::scoped_lock held(gate_);
    waiting_sender** end = &first;
    for (auto room = c.room; room > 0 && c.waiting != nullptr; --room) {
      *end = c.waiting;
      c.waiting = c.waiting->next_sender;
      (*end)->next_sender = nullptr;
      end = &(*end)->next_sender;
    }
    if (c.waiting == nullptr && c.room > 0) c.set_full(false);
  }
  if (first == nullptr) return;
  bool some_from_afar = false;
  for (const waiting_sender* s = first; s != nullptr; s = s->next_sender) some_from_afar |= s->from != &of_;
  if (some_from_afar) of_.arrivals_.unload_trains();  // what they had sent before comes first
  while (first != nullptr) {
    waiting_sender& s = *std::exchange(first, first->next_sender);
    of_.mailboxes_.deliver(c, *s.message);
    s.wake();
  }
  if (c.room <= 0) declare_full(c);  // what was unloaded meanwhile, and the senders' messages, took all of it
}

waiting_sender* backpressure::end_incarnation(actor_cell& c) noexcept {
  const std::scoped_lock held(gate_);
  ++c.incarnation;  // actor_cell.C4
  c.set_full(false);
  return std::exchange(c.waiting, nullptr);
}

bool backpressure::must_wait(const actor_cell& c, call_site call) {
  if (!c.full.load(std::memory_order_relaxed)) return false;  // relaxed: a hint; a sender looks again under the gate
  const auto policy = c.when_full.load(std::memory_order_relaxed);  // relaxed: constant while the actor lives
  if (policy == overflow::fail) {
    throw mailbox_full(error_number(504), std::string(call.name()) + ": the mailbox is full" + call.place(),
                       call.where());
  }
  return policy == overflow::suspend;
}

/// Under the gate.
void backpressure::enter(waiting_sender& s, actor_cell& c) noexcept {
  (c.waiting == nullptr ? c.waiting : c.waiting_last->next_sender) = &s;
  c.waiting_last = &s;
}

/// Under the gate. \return false: it is not in the list any more.
bool backpressure::leave(const waiting_sender& s, actor_cell& c) noexcept {
  waiting_sender* before = nullptr;
  waiting_sender* at = c.waiting;
  while (at != nullptr && at != &s) before = std::exchange(at, at->next_sender);
  if (at == nullptr) return false;
  (before == nullptr ? c.waiting : before->next_sender) = s.next_sender;
  if (c.waiting_last == &s) c.waiting_last = before;
  return true;
}

/// Enters the list of waiting senders and then the wait graph, under both locks. Under the gate `full` says whether the
/// dispatcher will look at the list; under the graph's lock a circle of waiting actors is seen by the one that closes
/// it.
bool backpressure::wait_for_room(envelope& m, call_site call) {
  actor_cell& c = *m.to;
  if (sched::this_fiber::inside()) sched::this_fiber::require_wait(call);
  waiting_sender me(m, dispatcher::here());
  auto& gate = c.home->full_mailboxes().gate_;
  bool lives = true;
  {
    const std::scoped_lock graph(wait_graph_lock());
    {
      const std::scoped_lock held(gate);
      lives = c.incarnation == m.incarnation();
      if (lives) {
        if (!c.full.load(std::memory_order_relaxed)) return false;  // relaxed: actor_cell.C3, under the gate
        enter(me, c);
      }
    }
    try {
      if (lives) begin_wait({&c, nullptr, &me}, call);
    } catch (...) {
      const std::scoped_lock held(gate);
      if (leave(me, c)) throw;
      // The message is being placed: no circle.
    }
  }
  if (!lives) {
    c.home->system().end_dead(m, {}, actor_has_ended);  // here, as what ends with it may wait
    return true;
  }
  me.wait("room in a mailbox", call);
  end_wait();
  m.ops = nullptr;
  return true;
}

}  // namespace actor::detail
}  // namespace v1
}  // namespace shunt
