/// One worker's actors: the loop that runs their handlers, and the way of a message to them.
///
///   tell, same worker ──> the actor's mailbox ──> queue of actors ──> a handler fiber runs its messages
///   tell, other worker ─> open train ──departs──> inbox ──unload──> the actor's mailbox ──> ...
///   control ────────────────────────────────────> inbox ──unload──> done at once
///
/// A handler fiber runs handlers in its own frames, one after the other, without a switch. If a handler waits, its
/// fiber parks with it, and another handler fiber goes on (handler_fibers.hpp).
///
/// The parts: ready_actors (what runs next), handler_fibers (the fibers), mailboxes (the longer way into one),
/// backpressure (full ones), outbox (trains to other workers), arrivals (what has come), lifecycles (spawn to end),
/// envelope_pool. They are parts of this class, and know it.
///
/// Invariants
///   dispatcher.D1  Envelopes are the dispatcher's: they come from its pool, and return to it. Trains go home.
///
/// The owner's thread only, except where "any thread" is said. See ../DESIGN.md.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <string_view>

#include <shunt/actor/detail/activity_counts.hpp>
#include <shunt/actor/detail/actor_cell.hpp>
#include <shunt/actor/detail/arrivals.hpp>
#include <shunt/actor/detail/backpressure.hpp>
#include <shunt/actor/detail/batch_length.hpp>
#include <shunt/actor/detail/envelope.hpp>
#include <shunt/actor/detail/envelope_pool.hpp>
#include <shunt/actor/detail/handler_fibers.hpp>
#include <shunt/actor/detail/lifecycles.hpp>
#include <shunt/actor/detail/mailboxes.hpp>
#include <shunt/actor/detail/outbox.hpp>
#include <shunt/actor/detail/ready_actors.hpp>
#include <shunt/base/call_site.hpp>
#include <shunt/base/thread_pointer.hpp>
#include <shunt/rail.hpp>

namespace shunt {
inline namespace v1 {
namespace actor::detail {

class actor_system;

inline constexpr std::string_view actor_has_ended = "the actor has ended";
inline constexpr std::string_view mailbox_is_full = "its mailbox is full";

class alignas(quiet_distance) dispatcher {
 public:
  static constexpr int messages_a_batch = batch_length::most;  // then other fibers run, and open trains depart

  dispatcher(actor_system& system, int index, int dispatchers);
  ~dispatcher() { arrivals_.discard(); }
  dispatcher(const dispatcher&) = delete;
  dispatcher& operator=(const dispatcher&) = delete;

  /// The calling thread's; nullptr for none.
  [[nodiscard]] static dispatcher* here() noexcept;
  /// The same, but nullptr under a controlled scheduler: there a send has to ask it first.
  [[nodiscard, gnu::always_inline]] static dispatcher* quick() noexcept;

  // --- tell, from fibers of this worker ---

  [[nodiscard]] mailboxes& own_mailboxes() noexcept { return mailboxes_; }
  /// Where the caller builds a message that is in no mailbox. nullptr: none is at hand.
  [[nodiscard, gnu::always_inline]] envelope* try_take_envelope() noexcept { return envelopes_.try_take(); }
  [[gnu::always_inline]] void give_back(envelope& e) noexcept { envelopes_.give_back(e); }
  /// The message has been built there, for an actor of this dispatcher. May wait. \throws as send()
  [[gnu::always_inline]] void tell(actor_cell& c, envelope* e, call_site call) {
    if (c.incarnation == e->incarnation() && c.state == cell_state::idle) [[likely]]
      return tell_idle(c, e);
    mailboxes_.tell(c, e, call);
  }
  /// The same for an idle actor: it runs next.
  [[gnu::always_inline]] void tell_idle(actor_cell& c, envelope* e) noexcept { ready_.add_direct(c, e); }
  /// Where the caller builds the arguments of a message for another worker's actor; `target` and `ops` as in an
  /// envelope. Building must neither wait nor send. nullptr: the caller must send() it.
  [[nodiscard]] std::byte* place_far(actor_cell& c, std::uint64_t target, const message_ops& ops) {
    if (&c.home->system_ != &system_) return nullptr;
    return outbox_.place(static_cast<std::size_t>(c.home->index_), c, target, ops);
  }
  /// The caller has built them: so many bytes.
  void built_far(const actor_cell& c, std::size_t bytes) noexcept {
    outbox_.built(static_cast<std::size_t>(c.home->index_), bytes);
  }

  /// Any thread: the whole way of a message, wherever its actor is, and whether or not its mailbox has room. May wait.
  /// \param m  built, with `to` and `target`, in the caller's frame. Empty afterwards, unless this throws.
  /// \throws mailbox_full, sched::deadlock, error if there is no memory for a train, what park() throws;
  /// std::bad_alloc.
  static void send(envelope& m, call_site call);
  /// A message that is exempt from the mailbox's bound. If the actor has ended, it is dead. `m` is empty afterwards.
  void send_exempt(envelope& m) noexcept;

  // --- any thread ---

  /// `what` is called on this dispatcher's thread, soon. \throws std::bad_alloc
  void call_soon(std::function<void()> what);
  [[nodiscard]] rail::train_inbox& inbox() noexcept { return outbox_.inbox(); }
  [[nodiscard]] lifecycles& actors() noexcept { return lifecycles_; }
  [[nodiscard]] backpressure& full_mailboxes() noexcept { return backpressure_; }
  [[nodiscard]] actor_system& system() const noexcept { return system_; }
  [[nodiscard]] int index() const noexcept { return index_; }
  /// A hint: no handler fiber is awake.
  [[nodiscard]] bool looks_asleep() const noexcept {
    return wakeup_.armed.load(std::memory_order_relaxed);  // relaxed: a hint
  }
  [[nodiscard]] const activity_counts& counts() const noexcept { return counts_; }

  // --- beginning and end ---

  void begin() noexcept;  // a fiber of this worker, first of all
  /// After the constructor of actor_system was told of it.
  [[nodiscard]] bool has_begun() const noexcept { return bool(wakeup_.fiber); }
  [[nodiscard]] handler_fibers& handlers() noexcept { return handlers_; }
  /// The calling thread has no dispatcher from now on.
  static void leave_thread() noexcept;
  /// A controlled scheduler decides what comes next.
  [[nodiscard]] bool controlled() const noexcept { return controlled_; }
  /// A fiber of this worker, which waits for an answer from here: lets a handler fiber run, if one has something to do.
  /// \throws what yield() throws.
  void let_handlers_run() {
    if (ready_.busy()) handlers_.let_run();
  }

 private:
  friend class arrivals;
  friend class backpressure;
  friend class handler_fibers;
  friend class lifecycles;
  friend class mailboxes;
  friend class outbox;
  friend class ready_actors;

  // Handling. Those that return the number of messages left in the batch return 0 if another handler fiber goes on.
  bool work(handler_fiber& me);
  /// Unloads about as much as a batch handles. \return whether there was anything.
  bool unload() noexcept {
    if (arrivals_.empty() && !outbox_.inbox().any() && !arrivals_.any_in_rings()) return false;
    arrivals_.unload();
    return true;
  }
  [[nodiscard, gnu::always_inline]] int run(handler_fiber& me, actor_cell& c, envelope& direct, int left);
  [[nodiscard, gnu::noinline]] int run_on(handler_fiber& me, actor_cell& c, int left);
  [[nodiscard, gnu::noinline]] bool may_handle(const handler_fiber& me, actor_cell& c, envelope& e,
                                               int handled) noexcept;
  [[nodiscard]] bool look_after(const handler_fiber& me, actor_cell& c, int handled) noexcept;
  [[nodiscard, gnu::noinline, gnu::cold]] int run_failed(handler_fiber& me, actor_cell& c, int left);
  [[nodiscard, gnu::noinline]] int end_turn(handler_fiber& me, actor_cell& c, int left);

  // A message's way, in this order: every message on this worker reads and writes the first line's worth of these. In
  // ready_ the actor that runs next and its message are apart: side by side the compiler would store both as one, by
  // way of another register.
  envelope_pool envelopes_;  // spare_, free_
  ready_actors ready_;       // run_next_, queue_, run_next_message_, awake_ ...
  activity_counts counts_;
  int batches_ = 0;  // that handler fibers are in, also those whose handlers wait
  envelope_store store_;
  handler_fibers handlers_;  // its first members belong here
  arrivals arrivals_;
  mailboxes mailboxes_;
  bool controlled_ = false;
  batch_length length_;  // of a batch

  // What others read, apart from what each message writes.
  alignas(quiet_distance) actor_system& system_;
  const int index_;
  wakeup_state wakeup_;

 public:
  /// No other dispatcher of the process has, had or will have this number; at least 1.
  const std::uint64_t serial;

 private:
  outbox outbox_;
  backpressure backpressure_;
  lifecycles lifecycles_;
};

/// See dispatcher::quick().
[[gnu::tls_model("initial-exec")]] extern constinit thread_local dispatcher* this_threads_quick_dispatcher asm(
    "shunt_actor_dispatcher_v1");
[[nodiscard, gnu::noinline]] dispatcher* quick_dispatcher_by_call() noexcept;

inline dispatcher* dispatcher::quick() noexcept {
  dispatcher* found;
  SHUNT_READ_THREAD_POINTER(found, "shunt_actor_dispatcher_v1", quick_dispatcher_by_call);
  return found;
}

}  // namespace actor::detail
}  // namespace v1
}  // namespace shunt
