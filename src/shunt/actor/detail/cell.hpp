/// What the library keeps of one actor. A cell is used again when its actor has ended; it never leaves its station.
///
///   state    message for it         picked           handler returns          handler throws
///   idle     -> direct, favoured    -                -                        -
///   direct   -> queued              direct, busy     -> idle                  -> idle (made anew), or ended
///   queued   queued                 queued, busy     -> queued or idle        -> queued or idle (made anew), or ended
///   ended    a dead letter          -                -                        -
///
/// Direct: it was idle, and has one message since, which goes to its handler without lying in the mailbox, as nothing
/// else does meanwhile. Most messages between actors that answer each other are of that kind.
///
/// Wishes (to stop, to be made anew) are granted when the actor is picked, between two messages: never amid a
/// handler.
///
/// Invariants
///   C1  But for what is said to be others', only the home station's thread reads or writes a cell whose actor lives.
///   C2  Busy is one engine's: the handler runs on its fiber, wherever that waits. Nobody else runs a handler of it.
///   C3  `full` is true while somebody waits for room. It is set where a message finds no room, and cleared, under
///       the station's gate, where there is room and nobody waits: so who sees it, under the gate, waits safely. Both
///       by the home station, whose own note of it is duty_room.
///   C4  `life` changes when the actor ends, under the gate. A message for an earlier life is a dead letter.
///   C5  A mailbox is one list of slots, from `front` to `end`:
///
///         front -> handled in this turn -> `at`, being handled -> messages, oldest first -> `vacant` -> more of them
///
///       Vacant slots are where the next messages are built: a sender takes one by a step of `vacant`, the engine a
///       message by a step of `at`, and neither writes anything else. What `room` counts is the slots that may still
///       be added: so a mailbox without vacant slots and without room is full. Only who is queued has vacant slots.
///   C6  Slots of messages that have been handled leave the list when the turn ends. Their room counts then, or at once
///       if somebody needs it: `counted` says for how many of the turn it does. Outside of a turn `at` is `front`.
///   C7  `marked` of the list's messages, counted from `front` with those that this turn has handled, have been here
///       since `marked_at`, or longer; less than 1: none is known. So a report can tell for how long the oldest has
///       waited at least, and no message costs a look at a clock: a mark stands until all of them have gone. It is made
///       where a handler begins to wait, where slots are added while one waits (extend()), and by a report that finds
///       none.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include <shunt/actor/detail/slot.hpp>
#include <shunt/actor/detail/waiter.hpp>
#include <shunt/task/future.hpp>

namespace shunt {
inline namespace v1 {
namespace detail::typed {

class station;
struct supervisor_state;

/// A sender that waits for room; its message lies in its frame, and is taken from there.
struct sender : sched::sleeper {
  sender(slot& m, const station* s) noexcept : message(&m), from(s) {}
  slot* message;
  const station* from;  // null: of none
  sender* next_sender = nullptr;
};

/// What an actor that waits amid a handler waits for; others read it under the lock of waits.cpp.
struct wait_edge {
  cell* on = nullptr;                               // null: it does not wait for an actor
  const task::detail::one_event* answer = nullptr;  // either its answer,
  const sched::sleeper* room = nullptr;             // or room in its mailbox
  sched::waker who{};                               // the handler's fiber
  cell* next = nullptr;                             // of those that wait; for reports
  cell* before = nullptr;
};

/// What has to be seen to between two messages of an actor; bits.
enum duty : std::uint8_t {
  no_duty = 0,
  wish_anew = 1,
  wish_end = 2,
  wishes = wish_anew | wish_end,
  duty_room = 4,    // `full` is set: who waits is to be let in, once there is room
  duty_parted = 8,  // its handler has waited: another engine goes on
};

enum class state : std::uint8_t { idle, direct, queued };

/// Of a living actor; what messages need not touch.
struct biography {
  std::string name;
  void (*finish)(void*) noexcept = nullptr;  // ends the object
  void (*free)(void*) noexcept = nullptr;    // its memory
  std::function<void(void*)> make;           // makes it again there; null: cannot
  bool whole = true;                         // there is an object
  std::shared_ptr<supervisor_state> above;   // null: nobody's
  bool restarts = true;
  std::vector<std::function<void(const ended&)>> monitors;
};

struct alignas(cache_line) cell final : task::detail::one_event::watcher {
  explicit cell(station& here) noexcept : home(&here) {}

  // Every message's.
  link* at = &front;       // C5
  slot* vacant = nullptr;  // null: none
  link front{};
  void* object = nullptr;
  std::uint32_t life = 0;
  state is = state::idle;
  std::uint8_t duties = no_duty;
  std::uint8_t counted = 0;  // C6
  std::uint8_t step = 1;     // so many slots are added the next time
  link* end = &front;
  cell* next = nullptr;  // in the station's queue

  // What senders on other workers read, apart from what each message writes.
  alignas(cache_line) station* const home;
  std::atomic<bool> full{false};                       // C3
  std::atomic<overflow> when_full{overflow::suspend};  // constant while the actor lives
  std::uint32_t capacity = 0;                          // the same

  // What follows is home's only.

  [[nodiscard]] bool empty() const noexcept { return at->next == vacant; }
  /// Where the next message is built. nullptr: it is not queued, or has no vacant slot. What is built must not wait.
  [[nodiscard, gnu::always_inline]] slot* place() noexcept {
    slot* const s = vacant;
    if (s != nullptr) vacant = s->next;
    return s;
  }
  /// These are its last from now on.
  void add(slot* first, slot* last) noexcept {
    last->next = nullptr;
    end->next = first;
    end = last;
  }
  /// The oldest message, out of the mailbox, which is not empty. Not to be handled in this turn.
  [[nodiscard]] slot* take_first() noexcept {
    slot* const s = at->next;
    at->next = s->next;
    if (s == end) end = at;
    ++room;
    --marked;
    return s;
  }
  /// It is idle, or has one message, which is not in its mailbox.
  void queue() noexcept {
    is = state::queued;
    room = capacity;
  }
  /// Before a message, after so many in this turn: whether a duty calls. Who waits for room is let in when half of the
  /// mailbox is empty: who is let in sends more than one message, and one at a time would be a park for each.
  [[nodiscard]] bool must_be_seen_to(int handled) const noexcept {
    return duties != no_duty && (duties != duty_room || half_empty(handled + 1));
  }
  /// Slots between `front` and `end`.
  [[nodiscard]] std::int64_t length() const noexcept { return std::int64_t{capacity} - room + counted; }
  /// Of this turn's messages, how many have been handled, and the one that is being.
  [[nodiscard]] int begun() const noexcept {
    int count = 0;
    for (const link* s = &front; s != at; s = s->next) ++count;
    return count;
  }
  /// Whether the mark tells of a message that still waits.
  [[nodiscard]] bool is_marked() const noexcept { return marked > 0 && marked > begun(); }
  /// As of now there are so many messages. C7
  void mark(std::int64_t messages) noexcept;
  [[nodiscard]] std::string_view called() const noexcept { return about == nullptr ? std::string_view() : about->name; }

  /// \param begun  so many messages, in this turn
  [[nodiscard]] bool half_empty(int begun) const noexcept {
    return room + begun - counted >= (std::int64_t{capacity} + 1) / 2;
  }
  void count(int begun) noexcept {
    room += begun - counted;
    counted = static_cast<std::uint8_t>(begun);
  }
  void set_duty(duty d) noexcept { duties = static_cast<std::uint8_t>(duties | d); }
  void clear_duties(unsigned d) noexcept { duties = static_cast<std::uint8_t>(duties & ~d); }
  /// relaxed: C3, the gate carries what matters.
  void set_full(bool now) noexcept {
    full.store(now, std::memory_order_relaxed);
    now ? set_duty(duty_room) : clear_duties(duty_room);
  }

  std::unique_ptr<biography> about;  // null: nobody lives here
  sender* waiting = nullptr;         // for room, first come first; under the station's gate
  sender* waiting_last = nullptr;
  wait_edge edge;
  std::int64_t room = 0;        // C5, where it is queued; less than 0 by those that are exempt
  std::int64_t marked = 0;      // C7
  std::uint32_t marked_at = 0;  // CLOCK_MONOTONIC_COARSE, ms

  bool wait_begins(const task::detail::one_event& e, const char* call) override;
  void wait_ends() noexcept override;
};
static_assert(sizeof(void*) != 8 || sizeof(cell) == 3 * cache_line);

/// Who a message is for. Two whole words: a copy of parts that were just written waits for the store buffer.
struct address {
  cell* to = nullptr;
  std::uint64_t which = 0;  // life, and offset above it

  address() noexcept = default;
  address(cell* c, std::uint32_t life) noexcept : to(c), which(life) {}
  [[nodiscard]] std::uint32_t life() const noexcept { return static_cast<std::uint32_t>(which); }
  [[nodiscard]] std::int32_t offset() const noexcept { return static_cast<std::int32_t>(which >> 32); }
  void move_by(std::int32_t distance) noexcept {
    which = life() | std::uint64_t{static_cast<std::uint32_t>(offset() + distance)} << 32;
  }
  friend bool operator==(const address& a, const address& b) noexcept { return a.to == b.to && a.life() == b.life(); }
};

/// Under it edges come and go, and circles are looked for. Taken before a station's gate.
[[nodiscard]] std::mutex& wait_graph() noexcept;
/// Under that lock. If the caller is a handler, its actor waits for that from now on, until waits_no_more().
/// \throws sched::deadlock if it would wait for itself, perhaps through others; then it does not.
void now_waits(const wait_edge& edge, const char* call);
/// Takes the lock.
void waits_no_more() noexcept;

}  // namespace detail::typed
}  // namespace v1
}  // namespace shunt
