#include <shunt/actor/detail/dispatcher.hpp>

#include <string>
#include <utility>

#include <shunt/actor/detail/actor_system.hpp>

namespace shunt {
inline namespace v1 {
namespace actor::detail {

[[gnu::used]] constinit thread_local dispatcher* this_threads_quick_dispatcher = nullptr;
dispatcher* quick_dispatcher_by_call() noexcept { return this_threads_quick_dispatcher; }

namespace {
constinit thread_local dispatcher* this_threads_dispatcher = nullptr;

std::uint64_t next_serial() noexcept {
  static std::atomic<std::uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;  // relaxed: a number that no other caller gets
}

}  // namespace

[[gnu::noinline]] dispatcher* dispatcher::here() noexcept { return this_threads_dispatcher; }

dispatcher::dispatcher(actor_system& system, int index, int dispatchers)
    : ready_(*this),
      handlers_(*this, dispatchers),
      arrivals_(*this),
      mailboxes_(*this),
      system_(system),
      index_(index),
      serial(next_serial()),
      outbox_([](void* self) noexcept { static_cast<dispatcher*>(self)->wakeup_.fiber.wake(); }, *this,
              static_cast<std::size_t>(dispatchers)),
      backpressure_(*this),
      lifecycles_(*this) {}

void dispatcher::begin() noexcept {
  this_threads_dispatcher = this;
  controlled_ = sched::this_worker::controlled();
  if (!controlled_) this_threads_quick_dispatcher = this;
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

/// Tries the way that fits the calling thread: into the mailbox, into a train, or, from a thread outside or of another
/// manager, into the thread's ring. Each may wait, and the caller's fiber may then be on another worker: so the choice
/// is made anew each time.
void dispatcher::send(envelope& m, call_site call) {
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
      if (at == c.home ? at->mailboxes_.send(m, call) : at->outbox_.send(m, call)) return;
    }
  } catch (...) {
    if (m.ops != nullptr) lose(m);
    throw;
  }
}

void dispatcher::send_exempt(envelope& m) noexcept {
  actor_cell& c = *m.to;
  if (c.incarnation != m.incarnation()) [[unlikely]]
    return system_.end_dead(m, {}, actor_has_ended);
  mailboxes_.deliver(c, m);
}

// --- handling ---

/// A batch: unloads what has arrived, and runs actors until about as many messages are handled as `length_` says, or
/// none is left; then the open trains depart. Another handler fiber is ready meanwhile, in case a handler waits.
/// \return false: there was nothing to do.
bool dispatcher::work(handler_fiber& me) {
  const bool moved = unload();
  if (ready_.empty()) {
    ready_.end_busy_period();
    return outbox_.depart_all() || moved;
  }
  handlers_.stand_by();
  ready_.begin_batch();
  if (controlled_) ready_.shuffle();
  int left = controlled_ ? 1 : length_.messages();
  length_.begin(batch_length::clock::now);
  ++batches_;
  do {
    ready_actors::next_actor next;
    if (!ready_.take_direct(next)) [[unlikely]] {
      next = ready_.take();
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
  if (handlers_.is_running(me)) {  // else a handler has waited, and another handler fiber goes on
    length_.end(left <= 0, batch_length::clock::now);
    outbox_.depart_all();
  }
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
    ready_.enqueue(c);
  }
  return left;
}

}  // namespace actor::detail
}  // namespace v1
}  // namespace shunt
