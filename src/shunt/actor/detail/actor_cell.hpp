/// What the library keeps of one actor. A cell is used again when its actor has ended; it never leaves its dispatcher.
///
///   state    message for it         picked          handler returns          handler throws
///   idle     -> direct, run_next    -               -                        -
///   direct   -> queued              direct, busy    -> idle                  -> idle (restarted), or ended
///   queued   queued                 queued, busy    -> queued or idle        -> queued or idle (restarted), or ended
///   ended    a dead letter          -               -                        -
///
/// *direct*: an idle actor has received one message. The message goes to the handler without entering the mailbox,
/// which is empty. Most messages between actors that answer each other are of that kind.
///
/// Requests (to stop, to restart) are granted when the actor is picked, between two messages: never amid a handler.
///
/// Invariants
///   actor_cell.C1  Only the home dispatcher's thread reads or writes the cell of a living actor, except for the
///       members that are said to be for others.
///   actor_cell.C2  One handler fiber runs the actor: the handler runs on it, wherever that waits. No other fiber runs
///       a handler of this actor meanwhile.
///   actor_cell.C3  `full` is true while a sender waits for room. A message that finds no room sets it. It is cleared,
///       under the gate, when there is room and no sender waits: so a sender that sees it, under the gate, waits
///       safely. The home dispatcher does both; its own copy is flag_senders_wait.
///   actor_cell.C4  `incarnation` changes when the actor ends, under the gate. A message for an earlier incarnation is
///       a dead letter.
///   actor_cell.C5  A mailbox is one list of envelopes, from `front` to `end`:
///
///         front -> handled in this turn -> `current` -> messages, oldest first -> `vacant` -> more of them
///
///       `current` is being handled. The next messages are built in vacant envelopes: a sender takes one by a step of
///       `vacant`, the handler fiber takes a message by a step of `current`, and neither writes anything else. `room`
///       counts the envelopes that may still be added: a mailbox without vacant envelopes and without room is full.
///       Only a queued actor has vacant envelopes.
///   actor_cell.C6  Envelopes of handled messages leave the list when the turn ends. Their room counts from then on, or
///       at once if a sender needs it: `counted` says for how many of the turn it counts. Outside of a turn `current`
///       is `front`.
///   actor_cell.C7  `marked` of the list's messages, counted from `front` with those that this turn has handled, have
///       been here since `marked_at`, or longer; less than 1: none is known. So a report tells a lower bound of the
///       oldest message's age, and no message costs a look at a clock: a mark stands until all of them have gone. A
///       mark is made where a handler begins to wait, where envelopes are added while one waits (add_envelopes()), and
///       by a report that finds none.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>

#include <shunt/actor/detail/envelope.hpp>
#include <shunt/actor/detail/envelope_pool.hpp>
#include <shunt/actor/detail/lifecycle.hpp>
#include <shunt/actor/detail/wait_graph.hpp>
#include <shunt/base/cache_line.hpp>
#include <shunt/task/future.hpp>

namespace shunt {
inline namespace v1 {
namespace actor::detail {

class dispatcher;

/// A sender that waits for room. Its message lies in its frame; the dispatcher takes it from there.
struct waiting_sender : sched::waiter {
  waiting_sender(envelope& m, const dispatcher* d) noexcept : message(&m), from(d) {}
  envelope* message;
  const dispatcher* from;  // null: a thread outside
  waiting_sender* next_sender = nullptr;
};

/// What the dispatcher has to look after between two messages of an actor; bits.
enum cell_flag : std::uint8_t {
  no_flag = 0,
  request_restart = 1,
  request_end = 2,
  requests = request_restart | request_end,
  flag_senders_wait = 4,    // `full` is set: senders are to be let in once there is room
  flag_handler_waited = 8,  // another handler fiber goes on
};

enum class cell_state : std::uint8_t { idle, direct, queued };

inline constexpr int messages_a_turn = 64;  // of one actor's mailbox, while others wait

struct alignas(cache_line) actor_cell final : one_event::watcher {
  explicit actor_cell(dispatcher& here) noexcept : home(&here) {}

  // Every message touches these.
  envelope_link* current = &front;  // actor_cell.C5
  envelope* vacant = nullptr;       // null: none
  envelope_link front{};
  void* object = nullptr;
  std::uint32_t incarnation = 0;
  cell_state state = cell_state::idle;
  std::uint8_t flags = no_flag;
  std::uint8_t counted = 0;  // actor_cell.C6
  std::uint8_t step = 1;     // so many envelopes are added the next time
  envelope_link* end = &front;
  actor_cell* next = nullptr;  // in the dispatcher's queue

  // Senders on other workers read these; they lie apart from what each message writes.
  alignas(cache_line) dispatcher* const home;
  std::atomic<bool> full{false};                       // actor_cell.C3
  std::atomic<overflow> when_full{overflow::suspend};  // constant while the actor lives
  std::uint32_t capacity = 0;                          // the same

  // The rest is the home dispatcher's alone.

  [[nodiscard]] bool empty() const noexcept { return current->next == vacant; }
  /// Where the next message is built. nullptr: it is not queued, or has no vacant envelope. Building must not wait.
  [[nodiscard, gnu::always_inline]] envelope* place() noexcept {
    envelope* const e = vacant;
    if (e != nullptr) vacant = e->next;
    return e;
  }
  /// Appends linked envelopes.
  void append(envelope* first, envelope* last) noexcept {
    last->next = nullptr;
    end->next = first;
    end = last;
  }
  /// Takes the oldest message out of the mailbox, which is not empty. This turn does not handle it.
  [[nodiscard]] envelope* take_first() noexcept {
    envelope* const e = current->next;
    current->next = e->next;
    if (e == end) end = current;
    ++room;
    --marked;
    return e;
  }
  /// An idle actor, or one with a direct message, gets a mailbox.
  void begin_queued() noexcept {
    state = cell_state::queued;
    room = capacity;
  }
  /// It has no messages, and becomes idle. Vacant envelopes go back.
  void become_idle(envelope_pool& pool) noexcept {
    state = cell_state::idle;
    if (vacant == nullptr) return;
    pool.give_back(vacant, static_cast<envelope*>(end));
    vacant = front.next = nullptr;
    end = &front;
  }

  /// A queued actor's. Counts the room of what this turn has handled if there is none else. actor_cell.C6
  [[nodiscard]] bool has_room() noexcept {
    if (room <= 0 && current != &front) count(begun());
    return room > 0;
  }
  /// Adds vacant envelopes to a mailbox that has none: `some` at most, or a chain of at most `most`.
  /// \param arrived  so many messages have arrived, for these envelopes. \throws std::bad_alloc
  void add_envelopes(std::int64_t some, std::int64_t most, std::int64_t arrived, envelope_pool& pool,
                     envelope_store& more) {
    step = static_cast<std::uint8_t>(std::min(2 * step, messages_a_turn));
    const auto taken = pool.take_run(some, most, more);
    // Only while a handler waits: a mark for busy actors too made fan-in between two workers 13 to 20 % slower.
    if ((flags & flag_handler_waited) != 0 && marked <= counted) [[unlikely]]
      mark(length() + std::min(arrived, taken.length));
    append(taken.first, taken.last);
    vacant = taken.first;
    room -= taken.length;
  }
  /// At the end of a turn of so many messages: their envelopes leave the mailbox. actor_cell.C6
  void remove_handled(int handled, envelope_pool& pool, envelope_store& store) noexcept {
    if (handled == 0) return;
    count(handled);
    counted = 0;
    marked -= handled;
    step = static_cast<std::uint8_t>(handled);
    auto* const last = static_cast<envelope*>(current);
    envelope* const first = std::exchange(front.next, last->next);
    if (end == last) end = &front;
    current = &front;
    pool.give_back({first, last, handled}, store);
  }

  /// Before a message, after so many in this turn: whether a flag calls for the dispatcher. Senders are let in when
  /// half of the mailbox is empty: each may send more than one message, and letting in one at a time would cost a park
  /// each.
  [[nodiscard]] bool needs_attention(int handled) const noexcept {
    return flags != no_flag && (flags != flag_senders_wait || half_empty(handled + 1));
  }
  /// Envelopes between `front` and `end`.
  [[nodiscard]] std::int64_t length() const noexcept { return std::int64_t{capacity} - room + counted; }
  /// Of this turn's messages, how many have been handled, the current one included.
  [[nodiscard]] int begun() const noexcept {
    int number = 0;
    for (const envelope_link* e = &front; e != current; e = e->next) ++number;
    return number;
  }
  /// Whether the mark tells of a message that still waits.
  [[nodiscard]] bool is_marked() const noexcept { return marked > 0 && marked > begun(); }
  /// As of now there are so many messages. actor_cell.C7
  void mark(std::int64_t messages) noexcept;
  /// Its handler begins to wait: another handler fiber goes on.
  void handler_waits() noexcept;
  /// Its name; empty: it has none, or has ended.
  [[nodiscard]] std::string_view name() const noexcept { return about == nullptr ? std::string_view() : about->name; }

  /// \param begun  so many messages, in this turn
  [[nodiscard]] bool half_empty(int begun) const noexcept {
    return room + begun - counted >= (std::int64_t{capacity} + 1) / 2;
  }
  /// The room of so many messages of this turn counts from now on.
  void count(int begun) noexcept {
    room += begun - counted;
    counted = static_cast<std::uint8_t>(begun);
  }
  void set_flag(cell_flag f) noexcept { flags = static_cast<std::uint8_t>(flags | f); }
  void clear_flags(unsigned f) noexcept { flags = static_cast<std::uint8_t>(flags & ~f); }
  void set_full(bool now) noexcept {
    full.store(now, std::memory_order_relaxed);  // relaxed: actor_cell.C3, the gate carries what matters
    now ? set_flag(flag_senders_wait) : clear_flags(flag_senders_wait);
  }

  std::unique_ptr<lifecycle> about;   // null: no actor lives here
  waiting_sender* waiting = nullptr;  // first come first; under the gate
  waiting_sender* waiting_last = nullptr;
  wait_edge edge;
  std::int64_t room = 0;        // actor_cell.C5, of a queued actor; less than 0 by messages that are exempt
  std::int64_t marked = 0;      // actor_cell.C7
  std::uint32_t marked_at = 0;  // CLOCK_MONOTONIC_COARSE, ms

  bool wait_begins(const one_event& e, call_site call) override;
  void wait_ends() noexcept override;
};
static_assert(sizeof(void*) != 8 || sizeof(actor_cell) == 3 * cache_line);

/// Where a message goes. Two whole words: a copy of parts that were just written waits for the store buffer.
struct address {
  actor_cell* to = nullptr;
  std::uint64_t target = 0;  // incarnation, and offset above it

  address() noexcept = default;
  address(actor_cell* c, std::uint32_t incarnation) noexcept : to(c), target(incarnation) {}
  [[nodiscard]] std::uint32_t incarnation() const noexcept { return static_cast<std::uint32_t>(target); }
  [[nodiscard]] std::int32_t offset() const noexcept { return static_cast<std::int32_t>(target >> 32); }
  void move_by(std::int32_t distance) noexcept {
    target = incarnation() | std::uint64_t{static_cast<std::uint32_t>(offset() + distance)} << 32;
  }
  friend bool operator==(const address& a, const address& b) noexcept {
    return a.to == b.to && a.incarnation() == b.incarnation();
  }
};

}  // namespace actor::detail
}  // namespace v1
}  // namespace shunt
