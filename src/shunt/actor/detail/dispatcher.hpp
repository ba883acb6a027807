/// One worker's actors: the loop that runs their handlers, and the way of a message to them.
///
///   tell, same worker ──> the actor's mailbox ──> queue of actors ──> a handler fiber runs its messages
///   tell, other worker ─> open train ──departs──> inbox ──unload──> the actor's mailbox ──> ...
///   control ────────────────────────────────────> inbox ──unload──> done at once
///
/// A handler fiber runs handlers in its own frames, one after the other, without a switch. If a handler waits, its
/// fiber parks with it, and another handler fiber goes on (handler_fibers.hpp).
///
/// The parts: handler_fibers (the fibers), outbox (trains to other workers), arrivals (what has come), backpressure
/// (full mailboxes), lifecycles (spawn to end), envelope_pool. They are parts of this class, and know it.
///
/// Invariants
///   dispatcher.D1  Envelopes are the dispatcher's: they come from its pool, and return to it. Trains go home.
///   dispatcher.D2  sent_ counts three things when they begin, done_ when they end: trains, from when they are opened
///       until they are unloaded, and the dead among their messages ended; controls, until they are done; and busy
///       periods, in which an actor of the dispatcher is queued or its handler runs. What begins during another one is
///       counted before that ends. See actor_system::quiet().
///   dispatcher.D3  run_next_message_ is run_next_'s message while that actor is direct, else null; never another
///       actor's. The actor in run_next_ has no flags.
///   dispatcher.D4  awake_ is true only in a busy period in which a handler fiber runs, or is ready.
///
/// The owner's thread only, except where "any thread" is said. See ../DESIGN.md.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <string_view>

#include <shunt/actor/detail/actor_cell.hpp>
#include <shunt/actor/detail/arrivals.hpp>
#include <shunt/actor/detail/backpressure.hpp>
#include <shunt/actor/detail/envelope.hpp>
#include <shunt/actor/detail/envelope_pool.hpp>
#include <shunt/actor/detail/handler_fibers.hpp>
#include <shunt/actor/detail/lifecycles.hpp>
#include <shunt/actor/detail/outbox.hpp>
#include <shunt/base/thread_pointer.hpp>
#include <shunt/rail.hpp>

namespace shunt {
inline namespace v1 {
namespace actors::detail {

class actor_system;

inline constexpr std::string_view actor_has_ended = "the actor has ended";
inline constexpr std::string_view mailbox_is_full = "its mailbox is full";

class alignas(quiet_distance) dispatcher {
 public:
  static constexpr int messages_a_batch = 512;       // then other fibers run, and open trains depart
  static constexpr int most_run_next_in_a_row = 64;  // before an actor of the queue

  dispatcher(actor_system& system, int index, int dispatchers);
  ~dispatcher() { arrivals_.discard(); }
  dispatcher(const dispatcher&) = delete;
  dispatcher& operator=(const dispatcher&) = delete;

  /// The calling thread's; nullptr for none.
  [[nodiscard]] static dispatcher* here() noexcept;
  /// The same, but nullptr under a controlled scheduler: there a send has to ask it first.
  [[nodiscard, gnu::always_inline]] static dispatcher* quick() noexcept;

  // --- tell, from fibers of this worker ---

  /// As actor_cell::place(), for an actor of this dispatcher, where that finds no vacant envelope. nullptr: the actor
  /// is idle, or has ended, or its mailbox is full. \throws std::bad_alloc
  [[nodiscard]] envelope* place_slowly(actor_cell& c, std::uint32_t incarnation);
  /// Where the caller builds a message that is in no mailbox. nullptr: none is at hand.
  [[nodiscard, gnu::always_inline]] envelope* try_take_envelope() noexcept { return envelopes_.try_take(); }
  [[gnu::always_inline]] void give_back(envelope& e) noexcept { envelopes_.give_back(e); }
  /// The message has been built there, for an actor of this dispatcher. May wait. \throws as send()
  [[gnu::always_inline]] void tell(actor_cell& c, envelope* e, const char* call) {
    if (c.incarnation == e->incarnation() && c.state == cell_state::idle) [[likely]]
      return tell_idle(c, e);
    tell_slowly(c, e, call);
  }
  /// The same for an idle actor: it runs next.
  [[gnu::always_inline]] void tell_idle(actor_cell& c, envelope* e) noexcept {
    c.state = cell_state::direct;
    if (run_next_ != nullptr || !awake_) [[unlikely]]
      return set_run_next(c, e);
    run_next_ = &c;
    run_next_message_ = e;
  }
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
  static void send(envelope& m, const char* call);
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
  /// Edge `counted` in: sent() sees what was sent before what this counts.
  [[nodiscard]] std::uint64_t done() const noexcept { return done_.load(std::memory_order_acquire); }
  [[nodiscard]] std::uint64_t sent() const noexcept {
    return sent_.load(std::memory_order_relaxed);  // relaxed: see actor_system::quiet()
  }

  // --- beginning and end ---

  void begin() noexcept;  // a fiber of this worker, first of all
  /// After the constructor of actor_system was told of it.
  [[nodiscard]] bool has_begun() const noexcept { return bool(wakeup_.fiber); }
  [[nodiscard]] handler_fibers& handlers() noexcept { return handlers_; }
  /// The calling thread has no dispatcher from now on.
  static void leave_thread() noexcept;
  /// A controlled scheduler decides what comes next.
  [[nodiscard]] bool directed() const noexcept { return directed_; }
  /// A fiber of this worker, which waits for an answer from here: lets a handler fiber run, if one has something to do.
  /// \throws what yield() throws.
  void let_handlers_run() {
    if (busy_) handlers_.let_run();
  }

 private:
  friend class arrivals;
  friend class backpressure;
  friend class handler_fibers;
  friend class lifecycles;
  friend class outbox;

  static void count(std::atomic<std::uint64_t>& counter, std::uint64_t by) noexcept {
    // relaxed load: only this thread stores it. release: edge `counted` out, of done_.
    counter.store(counter.load(std::memory_order_relaxed) + by, std::memory_order_release);
  }
  void count_sent() noexcept { count(sent_, 1); }
  void count_done(std::uint64_t by = 1) noexcept { count(done_, by); }

  // Sending.
  [[gnu::noinline]] void tell_slowly(actor_cell& c, envelope* e, const char* call);
  bool send_here(envelope& m, const char* call);
  void deliver(actor_cell& c, envelope& m) noexcept;
  [[nodiscard]] envelope* envelope_for(envelope& m);
  [[nodiscard]] bool make_vacant(actor_cell& c);
  [[nodiscard, gnu::noinline]] bool make_vacant_for(actor_cell& c, std::int64_t messages);
  static void lose(envelope& m) noexcept;

  // What runs next.
  void queue_direct(actor_cell& c) noexcept;
  void set_run_next(actor_cell& c, envelope* e) noexcept;
  void queue_run_next() noexcept;
  void flag(actor_cell& c, cell_flag f) noexcept;
  void enqueue(actor_cell& c) noexcept {
    c.next = nullptr;
    (queue_ == nullptr ? queue_ : queue_last_->next) = &c;
    queue_last_ = &c;
  }
  void wake() noexcept;
  void end_busy_period() noexcept;
  void set_awake(bool handler_ready) noexcept { awake_ = handler_ready && busy_; }
  /// What is handled next.
  struct next_actor {
    actor_cell* cell = nullptr;  // null: nothing
    envelope* direct = nullptr;  // its message, if that is not in its mailbox
  };
  [[nodiscard]] next_actor take_next() noexcept;
  void shuffle() noexcept;

  // Handling. Those that return the number of messages left in the batch return 0 if another handler fiber goes on.
  bool work(handler_fiber& me);
  /// Unloads about as much as a batch handles. \return whether there was anything.
  bool unload() noexcept {
    if (arrivals_.empty() && !outbox_.inbox().any()) return false;
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

  // A message's way, in this order: every message on this worker reads and writes these, and they share a cache line.
  // run_next_ and its message are apart: side by side the compiler would store both as one, by way of another register.
  envelope_pool envelopes_;  // spare_, free_
  actor_cell* run_next_ = nullptr;
  actor_cell* queue_ = nullptr;
  envelope* run_next_message_ = nullptr;  // dispatcher.D3
  bool awake_ = false;                    // dispatcher.D4
  bool busy_ = false;                     // a busy period
  int run_next_in_a_row_ = 0;
  actor_cell* queue_last_ = nullptr;
  std::atomic<std::uint64_t> sent_{0};
  std::atomic<std::uint64_t> done_{0};
  int batches_ = 0;  // that handler fibers are in, also those whose handlers wait
  envelope_store store_;
  handler_fibers handlers_;  // its first members belong here
  arrivals arrivals_;
  bool directed_ = false;

  // What others read, apart from what each message writes.
  alignas(quiet_distance) actor_system& system_;
  const int index_;
  wakeup_state wakeup_;

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

}  // namespace actors::detail
}  // namespace v1
}  // namespace shunt
