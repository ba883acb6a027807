/// One worker's actors, and the fibers that run their handlers.
///
///   tell, same worker ──> the actor's mailbox ──> queue of actors ──> an engine runs its messages
///   tell, other worker ─> open train ──departs──> platform ──unload──> the actor's mailbox ──> ...
///   control ────────────────────────────────────> platform ──unload──> done at once
///
/// An engine is a fiber. It runs handlers in its own frames, one after the other; nothing is switched. If a handler
/// waits, its engine's fiber parks with it, and another engine goes on: whenever one runs messages, another one
/// stands among the worker's ready fibers, or somebody who calls one (S1).
///
///   engine      becomes
///   idle        ready, when there is work and none runs or is ready
///   ready       running; counted in standbys_
///   running     ready, after a batch; in a handler that waits, then nobody's; idle, when there is nothing to do
///
/// Invariants
///   S1  engine_ is the engine that ran last, unless it became idle. While it is not null, it runs, or another one is
///       ready, or who lets them run is (askers_): in its turn that one finds none ready, and calls one.
///   S2  With no engine running or ready, the train inbox is armed: what comes wakes the porter, a fiber that never runs
///       handlers, and it wakes an engine.
///   S3  Slots are the station's: they come from its store, and return to it. Trains go home.
///   S4  sent_ counts three things when they begin, done_ when they end: trains, from when they are opened until they
///       are unloaded, and the dead among their messages buried; controls, until they are done; and spells, in which an
///       actor of the station is queued or busy. What begins amid another one is counted before that ends. See
///       hall::quiet().
///   S5  favoured_first_ is favoured_'s message while that is direct, else null; nobody else's. Who is favoured has no
///       duties.
///   S6  awake_ is true only in a spell (open_) in which an engine runs, or is ready.
///
/// All is the station's own worker's, but for what is said to be any thread's. See ../DESIGN.md.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <shunt/actor/detail/carriage.hpp>
#include <shunt/actor/detail/cell.hpp>
#include <shunt/actor/detail/slot.hpp>
#include <shunt/base/thread_pointer.hpp>
#include <shunt/rail.hpp>
#include <shunt/sched/report_notes.hpp>

namespace shunt {
inline namespace v1 {
namespace detail::typed {

class hall;

/// What goes up from a handler whose asker has been given what left it: that is the asker's from then on.
struct answered_failure {
  std::string text;
};
/// what(), or that there is none.
[[nodiscard]] std::string text_of(const std::exception_ptr& failure);

/// In the frame of its fiber.
struct engine : sched::detail::work_note {
  sched::waker who;
  cell* busy = nullptr;  // whose handler runs on it
  bool called = false;   // to go on, if idle
  engine* next_idle = nullptr;
  // For reports: the message, if the mailbox never had it; stale between handlers. Apart from `busy`: side by side they
  // would be stored as one, by way of another register.
  const slot* direct = nullptr;
};

/// Something to do at home; exempt from all bounds, as only the library sends it. Deletes itself.
struct control final : rail::train {
  explicit control(std::function<void()> f) : what(std::move(f)) { head.channel = channel; }
  static constexpr std::uint8_t channel = 3;
  std::function<void()> what;
};

class alignas(quiet_distance) station {
 public:
  static constexpr std::size_t messages_a_train = 256;  // a train costs as much as some hundred of them: DESIGN.md
  static constexpr std::size_t bytes_a_train = 16384;   // so many of the longest, if only a few begin a carriage
  static constexpr int messages_a_batch = 512;          // then other fibers have their turn, and open trains depart
  static constexpr int messages_a_turn = 64;            // of one actor's mailbox, while others wait
  static constexpr int favours_in_a_row = 64;           // who was just sent to goes first, at most so often
  static constexpr std::size_t idle_engines = 16;       // more of them end
  static constexpr std::size_t slots_a_block = 64;

  station(hall& all, int index, int stations);
  ~station();
  station(const station&) = delete;
  station& operator=(const station&) = delete;

  /// The calling thread's; nullptr for none.
  [[nodiscard]] static station* here() noexcept;
  /// The same, but nullptr where a chooser decides: who sends there has to ask it first.
  [[nodiscard, gnu::always_inline]] static station* quick() noexcept;

  // --- tell, this worker's fibers ---

  /// cell::place(), for an actor of this station, where that finds no vacant slot. nullptr: the actor is idle, or has
  /// ended, or its mailbox is full. \throws std::bad_alloc
  [[nodiscard]] slot* place_slowly(cell& c, std::uint32_t life);
  /// Where to build a message that is in no mailbox. nullptr: none is at hand.
  [[nodiscard, gnu::always_inline]] slot* spare() noexcept {
    slot* s = spare_;
    if (s != nullptr) {
      spare_ = nullptr;
    } else {
      s = free_;
      if (s != nullptr) [[likely]]
        free_ = s->next;
    }
    return s;
  }
  /// It has been built there, for an actor of this station. May wait. \throws as send()
  [[gnu::always_inline]] void tell(cell& c, slot* s, const char* call) {
    if (c.life == s->life() && c.is == state::idle) [[likely]]
      return tell_idle(c, s);
    tell_slowly(c, s, call);
  }
  [[gnu::always_inline]] void tell_idle(cell& c, slot* s) noexcept {
    c.is = state::direct;
    if (favoured_ != nullptr || !awake_) [[unlikely]]
      return favour(c, s);
    favoured_ = &c;
    favoured_first_ = s;
  }
  /// Where to build the arguments of a message for another worker's actor; `which` and `what` as in a slot. What is
  /// built must not wait, nor send. nullptr: send() it.
  [[nodiscard]] std::byte* place_far(cell& c, std::uint64_t which, const kind& what) {
    if (&c.home->all_ != &all_) return nullptr;
    loader& l = lane_to(*c.home).load;
    if (!l.takes(c, which, what) && !admit(c, which, what)) return nullptr;
    return l.place();
  }
  /// They have been built there, so many bytes.
  void depart_far(cell& c, std::size_t bytes) noexcept {
    lane& l = lane_to(*c.home);
    if (l.load.step(bytes)) dispatch(l, *c.home);
  }

  /// Any thread: the whole way of a message, wherever its actor is, and whether or not it has room. May wait.
  /// \param m  built, with `to`, life and offset; in the caller's frame. Empty afterwards, unless this throws.
  /// \throws mailbox_full, sched::deadlock, what park() throws; std::bad_alloc.
  static void send(slot& m, const char* call);

  // --- the actor's engine ---

  [[gnu::always_inline]] void give_back(slot& s) noexcept {
    if (spare_ == nullptr) [[likely]] {
      spare_ = &s;
    } else {
      take_back(&s, &s);
    }
  }
  /// The message goes into its actor's mailbox, full or not; or is dead. `m` is empty afterwards.
  void place_exempt(slot& m) noexcept;

  // --- any thread ---

  /// `what` is called on this station's thread, soon. \throws std::bad_alloc
  void at_home(std::function<void()> what);
  /// \throws error once it is closed; then `about` is as it was.
  [[nodiscard]] address take_cell(std::unique_ptr<biography>& about, void* object, std::uint32_t capacity,
                                  overflow when_full);

  // --- controls ---

  void wish_for(cell& c, std::uint32_t life, duty w) noexcept;
  void close() noexcept;  // any thread: nothing is born here from now on
  void end_all() noexcept;
  void begin() noexcept;  // a fiber of this worker, first of all
  /// After hall's constructor was told: by station_begun(), not merely report_begun().
  [[nodiscard]] bool has_begun() const noexcept { return bool(porter_); }
  void leave() noexcept;
  void append_busy(std::string& names) const;

  [[nodiscard]] int index() const noexcept { return index_; }
  [[nodiscard]] bool directed() const noexcept { return directed_; }  // a chooser decides
  [[nodiscard]] hall& all() const noexcept { return all_; }
  /// Edge `counted` in: what was sent before that is seen by sent().
  [[nodiscard]] std::uint64_t done() const noexcept { return done_.load(std::memory_order_acquire); }
  /// relaxed: see hall::quiet()
  [[nodiscard]] std::uint64_t sent() const noexcept { return sent_.load(std::memory_order_relaxed); }

  /// A fiber of this worker, which waits for an answer from here: a turn for the engines, if any has something to do.
  /// \throws what yield() throws.
  void let_engines_run();

  /// The running handler's actor is to be ended when it returns.
  static void end_running();

 private:
  friend class hall;

  static void count(std::atomic<std::uint64_t>& counter, std::uint64_t by = 1) noexcept {
    // relaxed load: only this thread stores it. release: edge `counted`, of done_.
    counter.store(counter.load(std::memory_order_relaxed) + by, std::memory_order_release);
  }

  [[gnu::noinline]] void tell_slowly(cell& c, slot* s, const char* call);
  void list_any(cell& c, slot& m) noexcept;
  void list_exempt(cell& c, slot& m) noexcept;
  [[gnu::noinline]] void extend(cell& c, std::int64_t some, std::int64_t most, std::int64_t come = 1);
  [[nodiscard]] bool has_room(cell& c) noexcept;
  [[nodiscard]] bool make_vacant(cell& c);
  [[nodiscard, gnu::noinline]] bool make_vacant_for(cell& c, std::int64_t messages);
  void queue_direct(cell& c) noexcept;
  void favour(cell& c, slot* s) noexcept;
  void favour_nobody() noexcept;
  void oblige(cell& c, duty d) noexcept;
  void wake() noexcept;
  void end_of_spell() noexcept;
  /// What is handled next.
  struct turn {
    cell* whose = nullptr;   // null: nothing
    slot* direct = nullptr;  // its message, if that is not in its mailbox
  };
  [[nodiscard]] turn next_in_queue() noexcept;
  void mix() noexcept;
  void enqueue(cell& c) noexcept {
    c.next = nullptr;
    (queue_ == nullptr ? queue_ : queue_last_->next) = &c;
    queue_last_ = &c;
  }

  /// Free slots that are linked to each other as a turn has left them, for a mailbox that needs so many: the end of a
  /// list is far to find. Lies in the first of them.
  struct string {
    static constexpr int shortest = 8;
    slot* last;
    slot* next_string;
    std::int64_t length;

    [[nodiscard]] static string& of(slot& first) noexcept {
      return *std::launder(reinterpret_cast<string*>(first.room_));
    }
  };
  static_assert(sizeof(string) <= slot::room && alignof(string) <= slot::alignment);

  /// The way to another station.
  struct lane {
    rail::train* open = nullptr;  // being filled
    loader load;                  // by it; a carriage is begun with a look at its actor's `full`
  };
  [[nodiscard]] lane& lane_to(const station& to) noexcept { return lanes_[static_cast<std::size_t>(to.index_)]; }
  [[gnu::noinline]] bool admit(cell& c, std::uint64_t which, const kind& what);
  bool couple(lane& l, cell& c, std::uint64_t which, const kind& what);
  [[nodiscard]] bool has_become_full(const cell& c) noexcept;
  bool open_train(lane& l, station& to);
  void dispatch(lane& l, station& to) noexcept;
  void dispatch_opened() noexcept;
  /// \return whether any train was being filled.
  bool dispatch_all() noexcept {
    if (opened_ == 0) return false;
    dispatch_opened();
    return true;
  }
  [[gnu::noinline, gnu::cold]] void buy_slots();
  [[gnu::noinline]] void loosen_string();
  slot* take_slot() {
    if (spare_ != nullptr) return std::exchange(spare_, nullptr);
    if (free_ == nullptr) loosen_string();
    return std::exchange(free_, free_->next);
  }
  [[nodiscard]] slot* slot_of(slot& m);
  static void lose(slot& m) noexcept;
  bool send_here(slot& m, const char* call);
  bool send_far(slot& m, const char* call);
  static bool must_wait(cell& c, const char* call);
  static bool wait_for_room(slot& m, const char* call);
  void wait_for_train();
  void declare_full(cell& c) noexcept;
  void drop_oldest(cell& c) noexcept;
  void wake_engine() noexcept {
    if (engine_ == nullptr && standbys_ == 0) [[unlikely]]
      call_engine();
  }
  /// Code that may wait is about to be called. S1
  void stand_by() noexcept {
    if (standbys_ == 0 && askers_ == 0) call_engine();
  }

  // Engines.
  void call_engine() noexcept;
  void new_engine();
  void run_engine();
  void run_engine_without_stack(engine& me);
  [[nodiscard]] bool rest_engine() noexcept;
  void begin_turn(engine& me) noexcept;
  void run_porter();
  void could_not_begin(const std::exception_ptr& why) noexcept;
  void take_over(engine& me) noexcept;
  [[gnu::noinline]] static void handler_waits(cell& c) noexcept;
  bool work(engine& me);
  bool look_around() noexcept;
  [[nodiscard, gnu::always_inline]] int run(engine& me, cell& c, slot& direct, int left);
  [[nodiscard, gnu::noinline]] bool may_handle(const engine& me, cell& c, slot& s, int handled) noexcept;
  [[nodiscard]] bool see_to(const engine& me, cell& c, int handled) noexcept;
  [[nodiscard, gnu::noinline]] int run_on(engine& me, cell& c, int left);
  [[nodiscard, gnu::noinline, gnu::cold]] int run_failed(engine& me, cell& c, int left);
  [[nodiscard, gnu::noinline]] int end_turn(engine& me, cell& c, int left);
  void sort_arrivals() noexcept;
  void unload_line() noexcept;
  void unload_trains() noexcept;
  std::int64_t unload_train(rail::train& t) noexcept;
  void obey(control& c) noexcept;
  [[nodiscard]] bool may_stand() noexcept;
  /// Of what has come, as much as a batch handles. \return whether there was anything.
  bool unload() noexcept {
    if (in_line_.empty() && !train_inbox_.any() && dead_.empty()) return false;
    unload_line();
    if (!dead_.empty()) bury_dead();
    return true;
  }
  [[nodiscard]] std::int64_t unload_goods(rail::train& t) noexcept;
  [[gnu::noinline, gnu::cold]] void bury_dead() noexcept;
  [[gnu::noinline, gnu::cold]] void make_room(cell& c) noexcept;
  [[gnu::noinline, gnu::cold]] void settle(cell& c) noexcept;
  void take_back(slot* first, slot* last) noexcept {
    last->next = free_;
    free_ = first;
  }
  void leave_handled(cell& c, int handled) noexcept;
  void rest(cell& c) noexcept;
  // \return whether the actor lives on.
  [[nodiscard, gnu::noinline, gnu::cold]] bool failed(cell& c, const std::exception_ptr& why);
  [[nodiscard, gnu::noinline, gnu::cold]] bool grant(cell& c);
  [[nodiscard]] bool make_anew(cell& c);
  void end(cell& c, const std::string& why) noexcept;
  void bury(slot& m, std::string_view name, std::string_view why) noexcept;
  void fiber_left() noexcept;

  // A message's way, in this order. (Side by side the favoured ones would be stored as one, by way of another
  // register.)
  slot* spare_ = nullptr;
  slot* free_ = nullptr;
  cell* favoured_ = nullptr;
  cell* queue_ = nullptr;
  slot* favoured_first_ = nullptr;  // S5
  bool awake_ = false;              // S6
  bool open_ = false;               // a spell's
  cell* queue_last_ = nullptr;
  engine* engine_ = nullptr;
  int standbys_ = 0;  // engines that are ready, or will be
  int askers_ = 0;    // fibers in let_engines_run()
  int batches_ = 0;   // that engines are in; one that has parted as well
  int favours_ = 0;
  slot* strings_ = nullptr;  // more free slots
  std::atomic<std::uint64_t> sent_{0};
  std::atomic<std::uint64_t> done_{0};

  /// A message that was found dead when it was unloaded: what ends with it is somebody's code, which may send and wait.
  struct dead_message {
    slot* message;
    cell* whose;  // null: of one that had ended
    std::uint32_t life;
    std::string_view why;
  };
  std::vector<dead_message> dead_;
  std::uint64_t trains_of_dead_ = 0;  // that brought them, and are not counted done yet
  rail::train_list in_line_;          // trains and controls that have come, to be unloaded
  int controls_in_line_ = 0;
  bool stands_ = false;  // some of it has been left standing,
  std::chrono::steady_clock::time_point stands_since_{};
  bool over_ = false;
  bool spins_ = false;
  int looks_ = 0;                                   // before a rest
  std::chrono::steady_clock::time_point rested_{};  // since when, at the last one
  bool directed_ = false;                           // a chooser decides
  int fibers_ = 0;
  engine* idle_ = nullptr;
  std::size_t idles_ = 0;
  waiter* train_wanted_ = nullptr;  // who waits for a train to come home
  std::vector<lane> lanes_;         // by station
  std::size_t opened_ = 0;          // trains that are being filled
  std::vector<std::unique_ptr<slot[]>> blocks_;

  // What others read, apart from what each message writes.
  alignas(quiet_distance) hall& all_;
  const int index_;
  std::atomic<bool> armed_{false};  // nobody is awake here
  sched::waker porter_;             // written before any other thread knows the station
  rail::train_inbox train_inbox_;

  alignas(quiet_distance) rail::train_pool pool_;
  std::mutex gate_;  // cells that nobody lives in, who waits for room, closed_
  std::vector<std::unique_ptr<cell>> cells_;
  cell* vacant_ = nullptr;
  bool closed_ = false;
};

/// See station::quick().
[[gnu::tls_model("initial-exec")]] extern constinit thread_local station* this_threads_quick_station asm(
    "shunt_actor_station_v1");
[[nodiscard, gnu::noinline]] station* quick_station_by_call() noexcept;

inline station* station::quick() noexcept {
  station* found;
  SHUNT_READ_THREAD_POINTER(found, "shunt_actor_station_v1", quick_station_by_call);
  return found;
}

// In waits.cpp.
/// `e` is the engine whose fiber this is, until it ends; reports tell what it does.
class engine_of_this_fiber_is {
 public:
  explicit engine_of_this_fiber_is(engine& e);
  ~engine_of_this_fiber_is();
  engine_of_this_fiber_is(const engine_of_this_fiber_is&) = delete;
  engine_of_this_fiber_is& operator=(const engine_of_this_fiber_is&) = delete;
};
/// The actor has ended: if this fiber is in its handler, it is so no more.
void no_handler_of(const cell& c) noexcept;
/// The actor whose handler runs on this fiber; nullptr for none.
[[nodiscard]] cell* cell_of_this_fiber();

}  // namespace detail::typed
}  // namespace v1
}  // namespace shunt
