/// A dispatcher's actors that have messages: the one that runs next, and the queue of the others.
///
/// An actor that was just sent to runs next: its message is in cache. After most_run_next_in_a_row of those an actor of
/// the queue has its turn.
///
/// Invariants
///   ready_actors.Q1  run_next_message_ is run_next_'s message while that actor is direct, else null; never another
///       actor's. The actor in run_next_ has no flags.
///   ready_actors.Q2  awake_ is true only in a busy period in which a handler fiber runs, or is ready. A busy period of
///       a dispatcher begins when an actor is queued while none was, and ends when none is and no handler waits.
#pragma once

#include <utility>

#include <shunt/actor/detail/actor_cell.hpp>

namespace shunt {
inline namespace v1 {
namespace actor::detail {

/// The owner's thread only.
class ready_actors {
 public:
  static constexpr int most_run_next_in_a_row = 64;

  /// What is handled next.
  struct next_actor {
    actor_cell* cell = nullptr;  // null: nothing
    envelope* direct = nullptr;  // its message, if that is not in its mailbox
  };

  explicit ready_actors(dispatcher& of) noexcept : of_(of) {}

  /// A message for an idle actor: it runs next.
  [[gnu::always_inline]] void add_direct(actor_cell& c, envelope* e) noexcept {
    c.state = cell_state::direct;
    if (run_next_ != nullptr || !awake_) [[unlikely]]
      return set_run_next(c, e);
    run_next_ = &c;
    run_next_message_ = e;
  }
  /// A queued actor goes to the end of the queue.
  void enqueue(actor_cell& c) noexcept {
    c.next = nullptr;
    (queue_ == nullptr ? queue_ : queue_last_->next) = &c;
    queue_last_ = &c;
  }
  /// A direct actor gets more than one message: they go through its mailbox.
  void queue_direct(actor_cell& c) noexcept;
  /// Sets a flag, which the actor that runs next has not (Q1).
  void flag(actor_cell& c, cell_flag f) noexcept;

  [[nodiscard]] bool empty() const noexcept { return run_next_ == nullptr && queue_ == nullptr; }
  /// Takes a direct actor that runs next while the queue is empty: the most frequent case.
  /// \return whether there is one.
  [[nodiscard, gnu::always_inline]] bool take_direct(next_actor& next) noexcept {
    next = {run_next_, run_next_message_};
    if (next.direct == nullptr || queue_ != nullptr) [[unlikely]]
      return false;
    run_next_ = nullptr;
    run_next_message_ = nullptr;
    return true;
  }
  /// Takes what is handled next, in all cases.
  [[nodiscard, gnu::noinline]] next_actor take() noexcept;
  /// Under a controlled scheduler any of the queued actors may come next: it chooses how many go to the end.
  void shuffle() noexcept;

  /// An actor is queued: a busy period begins, unless there is one, and a handler fiber is awake.
  void wake() noexcept;
  /// No actor is queued, and no handler waits: the busy period ends.
  void end_busy_period() noexcept;
  [[nodiscard]] bool busy() const noexcept { return busy_; }
  /// \param handler_ready  whether a handler fiber runs or is ready.
  void set_awake(bool handler_ready) noexcept { awake_ = handler_ready && busy_; }
  /// A handler fiber begins a batch, with something to do.
  void begin_batch() noexcept { awake_ = true; }

 private:
  void set_run_next(actor_cell& c, envelope* e) noexcept;
  void queue_run_next() noexcept;

  // In this order: see the end of dispatcher.
  actor_cell* run_next_ = nullptr;
  actor_cell* queue_ = nullptr;
  envelope* run_next_message_ = nullptr;  // ready_actors.Q1
  bool awake_ = false;                    // ready_actors.Q2
  bool busy_ = false;                     // a busy period
  int run_next_in_a_row_ = 0;
  actor_cell* queue_last_ = nullptr;
  dispatcher& of_;
};

}  // namespace actor::detail
}  // namespace v1
}  // namespace shunt
