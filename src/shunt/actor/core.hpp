/// Actors, the small core: messages are variables, and two primitives move them, send and access.
///
/// ```cpp
/// namespace actors = shunt::actors;
/// actors::engine e;
/// actors::actor ping, pong;
/// actors::message ball;
/// int left = 1000;
/// const auto play = [](actors::message& m, actors::actor& self) { if (left-- > 0) send(e, m, other(self)); };
/// ping.recv = play;
/// pong.recv = play;
/// send(e, ball, ping);
/// run(e);  // returns when nothing is under way any more
/// ```
///
/// A message is an object of the program's own: it is sent by handing it over, and nothing is copied and nothing
/// allocated. At any time it is one actor's, or on its way to one, or, before it is sent for the first time, nobody's.
/// Whoever has it may use what belongs to it: its own members, or whatever the program says it stands for (rows of a
/// field, say). An actor's handler is called with each message that arrives, on any worker, but never twice at once.
///
/// Where what runs: an actor that gets a message while it has none is queued by the worker that sent it, and runs there
/// next, when those have run that were queued before: its messages are in that worker's cache. Idle workers take over
/// half of another one's queue; an actor that stands in a queue alone is left to its worker, unless that is busy for
/// longer than some microseconds.
///
/// All of this belongs to actors that compute. Typed messages, mailboxes with bounds, and supervision are the other
/// half of this room.
///
/// Source: Vostokin, Skoryupina: A performance analysis of simple runtime system for actor programming in C++. 2017,
/// arXiv:1702.05463. Its listings can be written with this header line by line (examples/heat.cpp).
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include <shunt/actor/detail/core_inbox.hpp>
#include <shunt/actor/detail/seat.hpp>
#include <shunt/base/cache_line.hpp>
#include <shunt/base/error.hpp>
#include <shunt/sched/fiber.hpp>

namespace shunt {
inline namespace v1 {
namespace actors {

class actor;
class engine;
class message;
namespace detail {
class runner;
[[gnu::cold]] void send_slowly(stage& on, message& m, actor& to);
}  // namespace detail

/// Called with each message that arrives. `arrived` and all that stands for it are the actor's until it sends it on;
/// so are the messages that arrived before and were not sent on. May send, and may wait, which parks the fiber: the
/// worker goes on with fibers of others, and other workers with the actors that are queued here.
/// An exception that leaves it ends the run.
using handler = void (*)(message& arrived, actor& self);

/// A variable that actors hand to each other. Programs derive from it, or let it stand for something.
///
///   where_   nobody's    not sent yet
///            a           actor a's
///            a, +1       on its way to a
///
///   where_      send(m, to) by who may                   delivery     access(m, a)
///   nobody's    -> on its way; of two, one exchange wins   -            false
///   a           -> on its way, by a's handler              -            true
///   on its way  refused                                    -> a         false
class message {
 public:
  message() noexcept = default;
  message(const message&) = delete;
  message& operator=(const message&) = delete;
  /// Not on its way (contract).
  ~message() { SHUNT_ASSERT(!on_its_way()); }

 private:
  template <class>
  friend class detail::core_inbox;
  friend class detail::runner;
  friend class detail::stage;
  friend bool access(const message& m, const actor& a) noexcept;
  friend void send(engine& e, message& m, actor& to);
  static constexpr std::uintptr_t under_way = 1;  // a bit beside an actor*
  static constexpr std::uintptr_t nobodys = 1;    // one bit to look at, then, for both

  [[nodiscard]] bool on_its_way() const noexcept {
    const auto where = where_.load(std::memory_order_relaxed);  // relaxed: of another one's, a look
    return where != nobodys && (where & under_way) != 0;
  }

  std::atomic<std::uintptr_t> where_{nobodys};
  message* next_ = nullptr;  // the inbox's
};

/// Gets messages. Programs derive from it, or keep what belongs to it beside it.
class alignas(cache_line) actor {
 public:
  actor() noexcept = default;
  explicit actor(handler h) noexcept : recv(h) {}
  actor(const actor&) = delete;
  actor& operator=(const actor&) = delete;
  /// No message is on its way to it, and it does not run (contract).
  ~actor() { SHUNT_ASSERT(inbox_.resting()); }

  handler recv = nullptr;  ///< set before the first message is sent to it
  std::string name{};      ///< for errors; may stay empty

 private:
  friend class detail::runner;
  friend class detail::stage;
  friend bool access(const message& m, const actor& a) noexcept;
  friend void send(engine& e, message& m, actor& to);
  friend void ended(actor& a) noexcept;

  detail::core_inbox<message> inbox_;
  actor* next_ = nullptr;         // in stage::outside_
  const char* awaits_ = nullptr;  // the holder's; see must_end()
  actor* next_awaiting_ = nullptr;
  bool listed_ = false;
};

/// Whether `m` is `a`'s: whether a's handler may use it. For a's handler, or while nothing runs; anybody else may
/// ask, and learns what was so a moment ago. Cost: one load.
[[nodiscard]] inline bool access(const message& m, const actor& a) noexcept {
  // relaxed: what `m` brought came by edge `sent` of the inbox, to this activation of `a` or one before. That it was
  // sent away again is this actor's own doing.
  return m.where_.load(std::memory_order_relaxed) == reinterpret_cast<std::uintptr_t>(&a);
}

/// Makes `m` the variable of `a`, as if it had arrived: for the setting before a run.
/// \throws usage_error while `m` is on its way, or while `e` runs and the caller is not the handler of who has `m`.
void give(engine& e, message& m, actor& a);

/// Hands `m` over to `to`, whose handler will be called with it. The caller is the handler of the actor that has `m`,
/// or, for a message that was nobody's, any handler; outside of run() any thread, for any message.
/// Messages from one actor to another arrive in order. Never waits, and allocates nothing.
/// What the caller wrote before is visible to the handler.
/// \throws usage_error, with the names of those concerned, if `m` is on its way, or not the caller's: `m` then stays
///         where it is. Likewise on a thread that runs no handler while `e` runs.
/// Cost: two exchanges if `to` must be queued, one otherwise: some 5 ns. A system call if a worker sleeps.
inline void send(engine& e, message& m, actor& to);

/// From now on run() fails if nothing is on its way any more before `ended(a)` was said. Before a run, or in a's
/// handler.
/// \param what  what `a` waits for, for the error. Static text.
void must_end(engine& e, actor& a, const char* what);
/// In a's handler, or outside of runs.
inline void ended(actor& a) noexcept { a.awaits_ = nullptr; }

/// What a run has done.
struct result {
  std::uint64_t messages = 0;  ///< that handlers were called with
  std::uint64_t turns = 0;     ///< times that an actor was taken out of a queue, with all messages that it had then
  std::uint64_t thefts = 0;    ///< times that an idle worker took over half of another one's queue
};

/// Thrown by run(): nothing is under way, but actors that must end have not.
class stalled : public error {
 public:
  using error::error;
};

/// Calls handlers until no message is under way: then, as only handlers send, none will be.
/// In a fiber: on the workers of its runtime, the caller's among them; the fiber returns when all is over, and other
/// fibers of these workers run beside. On a thread: on a runtime of its own, whose worker 0 it is.
/// Afterwards messages may be sent, and run() called again.
/// \param workers  at most so many; 0: all, or sched::default_workers().
/// \throws what left a handler, the first one in time: then no handler is called any more, and what was on its way
///         belongs to those that it was sent to. stalled, which names them, if actors that must end have not.
///         usage_error for a negative number, or while `e` runs. shunt::error, std::bad_alloc: nothing has run.
/// Cost: a fiber a worker, some microseconds. Idle workers look around for some 50 us, and sleep then.
result run(engine& e, int workers = 0);

/// What runs actors: where messages wait that were sent outside of a run, and while it runs its workers' queues.
class engine {
 public:
  engine();   ///< \throws std::bad_alloc
  ~engine();  ///< not while it runs; messages that were sent and never run: contract
  engine(const engine&) = delete;
  engine& operator=(const engine&) = delete;

 private:
  friend void give(engine& e, message& m, actor& a);
  friend void send(engine& e, message& m, actor& to);
  friend void must_end(engine& e, actor& a, const char* what);
  friend result run(engine& e, int workers);
  std::unique_ptr<detail::stage> stage_;
};

/// Who may: the handler of the actor that has the message. That is the caller if it is this actor's turn on this
/// thread, for a seat runs one actor at a time. `where_` of a message that others have is read while they write it, and
/// says, whatever the moment, that it is another actor's, or under way; hence relaxed.
inline void send(engine& e, message& m, actor& to) {
  const auto where = m.where_.load(std::memory_order_relaxed);
  if (detail::seat* const here = detail::seat::of_handler(e.stage_.get(), where)) [[likely]] {
    // relaxed: the inbox hands the message over
    m.where_.store(reinterpret_cast<std::uintptr_t>(&to) + message::under_way, std::memory_order_relaxed);
    if (to.inbox_.push(m) == detail::after_mail::queue_it) here->queue(to);
    return;
  }
  detail::send_slowly(*e.stage_, m, to);
}

}  // namespace actors
}  // namespace v1
}  // namespace shunt
