#include <shunt/actor/detail/dispatcher.hpp>

#include <string>
#include <utility>

#include <shunt/actor/detail/actor_system.hpp>

namespace shunt {
inline namespace v1 {
namespace actors::detail {

[[gnu::used]] constinit thread_local dispatcher* this_threads_quick_dispatcher = nullptr;
dispatcher* quick_dispatcher_by_call() noexcept { return this_threads_quick_dispatcher; }

namespace {
constinit thread_local dispatcher* this_threads_dispatcher = nullptr;
}  // namespace

[[gnu::noinline]] dispatcher* dispatcher::here() noexcept { return this_threads_dispatcher; }

dispatcher::dispatcher(actor_system& system, int index, int dispatchers)
    : handlers_(*this, dispatchers),
      arrivals_(*this),
      system_(system),
      index_(index),
      outbox_([](void* self) noexcept { static_cast<dispatcher*>(self)->wakeup_.fiber.wake(); }, *this,
              static_cast<std::size_t>(dispatchers)),
      backpressure_(*this),
      lifecycles_(*this) {}

void dispatcher::begin() noexcept {
  this_threads_dispatcher = this;
  directed_ = sched::this_worker::directed();
  if (!directed_) this_threads_quick_dispatcher = this;
  handlers_.begin();
}

void dispatcher::leave_thread() noexcept {
  this_threads_dispatcher = nullptr;
  this_threads_quick_dispatcher = nullptr;
}

void dispatcher::call_soon(std::function<void()> what) {
  auto* const c = new control(std::move(what));
  system_.count_sent();
  inbox().deliver(*c);
}

// --- sending ---

/// The message in an envelope of this dispatcher. `m` is empty then. \throws std::bad_alloc, before
envelope* dispatcher::envelope_for(envelope& m) {
  envelope* const e = envelopes_.take(store_);
  m.move_to(*e);
  return e;
}

/// Whether there is room for a message that is not exempt. If so, and if the actor is queued, it has a vacant envelope
/// then. \throws std::bad_alloc
inline bool dispatcher::make_vacant(actor_cell& c) {
  if (c.state == cell_state::direct) queue_direct(c);
  if (c.state != cell_state::queued || c.vacant != nullptr) return true;
  return backpressure_.add_vacant(c);
}

/// For so many messages that have arrived, for an actor that is not idle: see backpressure::add_vacant_for().
bool dispatcher::make_vacant_for(actor_cell& c, std::int64_t messages) {
  if (c.state == cell_state::direct) queue_direct(c);
  return backpressure_.add_vacant_for(c, messages);
}

envelope* dispatcher::place_slowly(actor_cell& c, std::uint32_t incarnation) {
  if (c.incarnation != incarnation || c.state == cell_state::idle) return nullptr;
  return make_vacant(c) ? c.place() : nullptr;
}

/// The actor is not idle, or has ended. If its mailbox has a place, the message moves there. Else it goes the whole way
/// from the caller's frame, as the caller may wait, and go on on another thread.
void dispatcher::tell_slowly(actor_cell& c, envelope* e, const char* call) {
  try {
    if (envelope* const to = place_slowly(c, e->incarnation())) {
      e->move_to(*to);
      return give_back(*e);
    }
  } catch (...) {  // no memory for its place
    lose(*e);
    give_back(*e);
    throw;
  }
  envelope m;
  e->move_to(m);
  give_back(*e);
  m.to = &c;
  send(m, call);
}

/// Ends a message whose sender gets an exception.
void dispatcher::lose(envelope& m) noexcept { m.ops->drop(m, {{}, m.ops->method, "it could not be sent"}); }

/// Tries the way that fits the calling thread: into the mailbox, into a train, or, from a thread outside or of another
/// manager, a train of its own. Each may wait, and the caller's fiber may then be on another worker: so the choice is
/// made anew each time.
void dispatcher::send(envelope& m, const char* call) {
  actor_cell& c = *m.to;
  try {
    for (;;) {
      dispatcher* const at = here();
      if (at == nullptr || &at->system_ != &c.home->system_) {
        if (backpressure::must_wait(c, call)) {
          if (backpressure::wait_for_room(m, call)) return;
          continue;
        }
        return c.home->system_.outside().send(m, call);
      }
      if (at == c.home ? at->send_here(m, call) : at->outbox_.send(m, call)) return;
    }
  } catch (...) {
    if (m.ops != nullptr) lose(m);
    throw;
  }
}

/// \return whether the message has left the caller's frame; if not, the caller tries again.
bool dispatcher::send_here(envelope& m, const char* call) {
  actor_cell& c = *m.to;
  if (c.incarnation != m.incarnation()) {
    system_.end_dead(m, {}, actor_has_ended);
    return true;
  }
  if (!make_vacant(c)) {
    switch (c.when_full.load(std::memory_order_relaxed)) {  // relaxed: this thread's
      case overflow::drop_newest: system_.end_dead(m, c.name(), mailbox_is_full); return true;
      case overflow::drop_oldest: backpressure_.drop_oldest(c); break;
      case overflow::fail:
        throw mailbox_full(std::string(call) + ": the mailbox of actor `" + std::string(c.name()) +
                           "` is full: " + std::to_string(c.capacity - c.room) + " messages");
      case overflow::suspend: backpressure_.declare_full(c); return backpressure::wait_for_room(m, call);
    }
  }
  if (c.state == cell_state::idle) {
    tell_idle(c, envelope_for(m));  // may throw
  } else {
    deliver(c, m);
  }
  return true;
}

void dispatcher::send_exempt(envelope& m) noexcept {
  actor_cell& c = *m.to;
  if (c.incarnation != m.incarnation()) [[unlikely]]
    return system_.end_dead(m, {}, actor_has_ended);
  deliver(c, m);
}

/// A message for an actor of this dispatcher, in any state, with room or without. `m` is empty then.
void dispatcher::deliver(actor_cell& c, envelope& m) noexcept {
  if (c.state == cell_state::idle) return tell_idle(c, envelope_for(m));
  if (make_vacant(c)) return m.move_to(*c.place());
  envelope* const e = envelope_for(m);
  c.append(e, e);
  --c.room;
}

// --- what runs next ---

/// A direct actor gets more than one message: they go through its mailbox.
void dispatcher::queue_direct(actor_cell& c) noexcept {
  c.begin_queued();
  if (run_next_ != &c) return;
  envelope* const e = std::exchange(run_next_message_, nullptr);
  c.append(e, e);
  --c.room;
}

/// The actor that was sent to last runs next, and a handler fiber is awake for it.
void dispatcher::set_run_next(actor_cell& c, envelope* e) noexcept {
  if (run_next_ != nullptr) queue_run_next();
  run_next_ = &c;
  run_next_message_ = e;
  wake();
}

/// The actor in run_next_ goes to the end of the queue.
void dispatcher::queue_run_next() noexcept {
  actor_cell& c = *run_next_;
  if (c.state == cell_state::direct) queue_direct(c);
  run_next_ = nullptr;
  enqueue(c);
}

void dispatcher::flag(actor_cell& c, cell_flag f) noexcept {
  if (run_next_ == &c) queue_run_next();  // dispatcher.D3
  c.set_flag(f);
}

/// An actor is queued: a busy period begins, unless there is one, and a handler fiber is awake.
void dispatcher::wake() noexcept {
  if (!busy_) count_sent();
  busy_ = true;
  awake_ = true;
  handlers_.wake();
}

/// No actor is queued. The busy period ends, unless a handler waits.
void dispatcher::end_busy_period() noexcept {
  if (batches_ != 0 || !busy_) return;
  busy_ = false;
  awake_ = false;
  count_done();
}

/// The actor that was sent to last, but not too often in a row; else the first in the queue.
dispatcher::next_actor dispatcher::take_next() noexcept {
  if (run_next_ != nullptr) {
    if (++run_next_in_a_row_ <= most_run_next_in_a_row) {
      return {std::exchange(run_next_, nullptr), std::exchange(run_next_message_, nullptr)};  // dispatcher.D3
    }
    queue_run_next();
  }
  run_next_in_a_row_ = 0;
  if (queue_ == nullptr) return {};
  return {std::exchange(queue_, queue_->next), nullptr};
}

/// Under a controlled scheduler any of the queued actors may come next: it chooses how many go to the end.
void dispatcher::shuffle() noexcept {
  if (run_next_ != nullptr) queue_run_next();
  std::size_t queued = 0;
  for (const actor_cell* c = queue_; c != nullptr; c = c->next) ++queued;
  for (auto passed = sched::this_worker::choose(queued); passed > 0; --passed) {
    enqueue(*std::exchange(queue_, queue_->next));
  }
}

// --- handling ---

/// A batch: unloads what has arrived, and runs actors until about messages_a_batch messages are handled or none is
/// left; then the open trains depart. Another handler fiber is ready meanwhile, in case a handler waits.
/// \return false: there was nothing to do.
bool dispatcher::work(handler_fiber& me) {
  const bool moved = unload();
  if (run_next_ == nullptr && queue_ == nullptr) {
    end_busy_period();
    return outbox_.depart_all() || moved;
  }
  handlers_.stand_by();
  awake_ = true;
  if (directed_) shuffle();
  int left = directed_ ? 1 : messages_a_batch;
  ++batches_;
  do {
    next_actor next{run_next_, run_next_message_};
    if (next.direct != nullptr && queue_ == nullptr) [[likely]] {
      run_next_ = nullptr;
      run_next_message_ = nullptr;
    } else {
      next = take_next();
      if (next.cell == nullptr) {
        me.running = nullptr;  // what ends with a dead message runs in no actor's handler
        if (!unload()) break;
        continue;
      }
    }
    left = next.direct != nullptr ? run(me, *next.cell, *next.direct, left) : run_on(me, *next.cell, left);
  } while (left > 0);
  --batches_;
  me.running = nullptr;
  if (handlers_.is_running(me)) outbox_.depart_all();  // else a handler has waited, and another handler fiber goes on
  return true;
}

/// A turn of one actor: a direct message, and what has come into the mailbox meanwhile.
/// \param left  messages of the batch
inline int dispatcher::run(handler_fiber& me, actor_cell& c, envelope& direct, int left) {
  me.running = &c;
  me.direct = &direct;
  --left;
  try {
    direct.ops->run(direct, c.object);
  } catch (...) {
    me.direct = nullptr;
    give_back(direct);
    return run_failed(me, c, left);
  }
  give_back(direct);
  if (c.front.next != nullptr || c.flags != no_flag) return run_on(me, c, left);
  c.state = cell_state::idle;
  return left;
}

/// A turn of one actor: the messages in its mailbox, up to messages_a_turn. The envelopes stay in the list until the
/// turn ends, so that a step from message to message writes nothing else.
int dispatcher::run_on(handler_fiber& me, actor_cell& c, int left) {
  me.running = &c;
  me.direct = nullptr;
  void* const object = c.object;
  int more = messages_a_turn;
  try {
    for (envelope* e = c.front.next; e != c.vacant && more != 0; e = e->next, --more) {
      if (!c.needs_attention(messages_a_turn - more)) [[likely]] {
        c.current = e;
      } else if (!may_handle(me, c, *e, messages_a_turn - more)) {
        break;
      }
      e->ops->run(*e, object);
    }
  } catch (...) {
    const int handled = c.begun();  // counted anew: a variable that is needed here is a load and a store each time
    c.remove_handled(handled, envelopes_, store_);
    return run_failed(me, c, left - handled);
  }
  const int handled = messages_a_turn - more;
  c.remove_handled(handled, envelopes_, store_);
  return end_turn(me, c, left - handled);
}

int dispatcher::run_failed(handler_fiber& me, actor_cell& c, int left) {
  if (lifecycles_.failed(c, std::current_exception())) return end_turn(me, c, left);
  return handlers_.is_running(me) ? left : 0;
}

/// Before message `e`, after so many in this turn: a flag calls. \return whether this turn handles the message.
bool dispatcher::may_handle(const handler_fiber& me, actor_cell& c, envelope& e, int handled) noexcept {
  envelope_link* const before = std::exchange(c.current, &e);
  if (look_after(me, c, handled)) return true;
  c.current = before;
  return false;
}

/// Before a message, after so many in this turn. \return whether the turn goes on: not after its handler has waited, or
/// if a stop or a restart is requested.
bool dispatcher::look_after(const handler_fiber& me, actor_cell& c, int handled) noexcept {
  if (!handlers_.is_running(me) || (c.flags & requests) != 0) return false;
  c.clear_flags(flag_handler_waited);
  if ((c.flags & flag_senders_wait) != 0 && c.half_empty(handled + 1)) {
    c.count(handled + 1);
    backpressure_.let_senders_in(c);
  }
  return true;
}

/// After the last message of a turn, or instead of its first: grants requests, and queues the actor again if it has
/// messages.
int dispatcher::end_turn(handler_fiber& me, actor_cell& c, int left) {
  if (!handlers_.is_running(me)) left = 0;
  c.clear_flags(flag_handler_waited);
  if ((c.flags & requests) != 0) {
    me.running = nullptr;
    if (!lifecycles_.grant_requests(c)) return left;
  }
  if (c.empty()) {
    c.become_idle(envelopes_);
  } else {
    enqueue(c);
  }
  return left;
}

}  // namespace actors::detail
}  // namespace v1
}  // namespace shunt
