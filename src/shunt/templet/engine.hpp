/// Actors whose messages are variables: two primitives move a message, send and access.
///
/// ```cpp
/// namespace templet = shunt::templet;
/// templet::engine e;
/// templet::actor ping, pong;
/// templet::message ball;
/// int left = 1000;
/// void play(templet::message& m, templet::actor& self) {
///   if (left-- > 0) send(e, m, &self == &ping ? pong : ping);
/// }
/// int main() {
///   ping.recv = pong.recv = play;
///   send(e, ball, ping);
///   run(e);  // returns when no message is under way any more
/// }
/// ```
///
/// A message is an object of the program's own. The program sends it by handing it over: nothing is copied and nothing
/// allocated. At any time one actor has it, or it is on its way to one, or it has not been sent yet. The actor that has
/// it may use what belongs to it: its own members, or whatever the program says it stands for (rows of a field, say).
/// An actor's handler is called with each message that arrives, on any worker, but never twice at once.
///
/// Where a handler runs: a worker that sends to an actor without messages queues the actor, and runs it after those
/// that it queued before, because the message is in that worker's cache. An idle worker takes over half of another
/// worker's queue. An actor that is alone in a queue is left to its worker, unless that is busy for longer than some
/// microseconds.
///
/// This module is for actors that compute. Typed messages, bounded mailboxes and supervision: <shunt/actor.hpp>.
///
/// Source: Vostokin, Skoryupina: A performance analysis of simple runtime system for actor programming in C++. 2017,
/// arXiv:1702.05463. Its listings can be written with this header line by line (examples/heat.cpp).
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include <shunt/base/error.hpp>
#include <shunt/templet/actor.hpp>
#include <shunt/templet/detail/worker_slot.hpp>
#include <shunt/templet/message.hpp>

namespace shunt {
inline namespace v1 {
namespace templet {

struct simulate;
struct simulated;

namespace detail {
[[gnu::cold]] void send_slowly(scheduler& on, message& m, actor& to);
}  // namespace detail

/// Makes `m` the variable of `a`, as if it had arrived: for the setting before a run.
/// \throws usage_error while `m` is on its way, or while `e` runs and the caller is not a handler of the actor that has
///         `m`.
void give(engine& e, message& m, actor& a);

/// Hands `m` over to `to`, whose handler will be called with it. The caller is a handler of the actor that has `m`, or,
/// for a message that was never sent, any handler; outside of run() any thread, for any message.
/// Messages from one actor to another arrive in order. Never waits, and allocates nothing.
/// What the caller wrote before is visible to the handler.
/// \throws usage_error, with the names of the actors concerned, if `m` is on its way, or another actor has it: `m` then
///         stays where it is. Likewise on a thread that runs no handler while `e` runs.
/// Cost: two exchanges if `to` must be queued, one otherwise: some 5 ns. A system call if a worker sleeps.
inline void send(engine& e, message& m, actor& to);

/// From now on run() fails if no message is on its way any more before `ended(a)` was called. Before a run, or in a's
/// handler.
/// \param what  what `a` waits for, for the error. Static text.
void must_end(engine& e, actor& a, const char* what);

/// What a run has done.
struct result {
  std::uint64_t messages = 0;     ///< that handlers were called with
  std::uint64_t activations = 0;  ///< times that an actor was taken out of a queue, with all messages that it had then
  std::uint64_t thefts = 0;       ///< times that an idle worker took over half of another one's queue
};

/// Thrown by run(): no message is under way, but actors that must end have not.
class stalled : public error {
 public:
  /// See error's: the text, what is known as numbers, the line.
  using error::error;
};

/// Calls handlers until no message is under way: then none will be, because only handlers send.
/// In a fiber: on the workers of its runtime, the caller's among them; the fiber returns when all is over, and other
/// fibers of these workers run beside. On a thread: on a runtime of its own, whose worker 0 is the thread.
/// Afterwards messages may be sent, and run() called again.
/// \param workers  at most so many; 0: all, or sched::default_workers().
/// \throws the first exception that left a handler: then no handler is called any more, and each message that was on
///         its way belongs to the actor that it was sent to. stalled, which names them, if actors that must end have
///         not. usage_error for a negative number, or while `e` runs. shunt::error, std::bad_alloc: nothing has run.
/// Cost: a fiber a worker, some microseconds. Idle workers look around for some 50 us, and sleep then.
result run(engine& e, int workers = 0);

/// Runs actors. Holds the messages that were sent outside of a run and, during a run, its workers' queues.
class engine {
 public:
  engine();   ///< \throws std::bad_alloc
  ~engine();  ///< not while it runs; contract: no message was sent that no run has delivered
  engine(const engine&) = delete;
  engine& operator=(const engine&) = delete;

 private:
  friend void give(engine& e, message& m, actor& a);
  friend void send(engine& e, message& m, actor& to);
  friend void must_end(engine& e, actor& a, const char* what);
  friend result run(engine& e, int workers);
  friend simulated run(engine& e, const simulate& on);
  std::unique_ptr<detail::scheduler> scheduler_;
};

/// The caller may send if it is a handler of the actor that has the message. That is so if this thread's slot runs that
/// actor now, as a slot runs one actor at a time. Another thread may write `where_` of a message that another actor
/// has while it is read here; whatever is read then says that another actor has it, or that it is under way.
inline void send(engine& e, message& m, actor& to) {
  const auto where = m.where_.load(std::memory_order_relaxed);  // relaxed: see above
  if (detail::worker_slot* const here = detail::worker_slot::of_handler(e.scheduler_.get(), where)) [[likely]] {
    // relaxed: the inbox hands the message over
    m.where_.store(reinterpret_cast<std::uintptr_t>(&to) + message::under_way, std::memory_order_relaxed);
    if (to.inbox_.push(m) == detail::after_push::queue_it) here->queue(to);
    return;
  }
  detail::send_slowly(*e.scheduler_, m, to);
}

}  // namespace templet
}  // namespace v1
}  // namespace shunt
