#include <shunt/actor/detail/station.hpp>

#include <algorithm>
#include <chrono>
#include <new>

#include <shunt/actor/detail/hall.hpp>
#include <shunt/base/clock.hpp>
#include <shunt/base/topology.hpp>

namespace shunt {
inline namespace v1 {
namespace detail::typed {

using std::chrono::steady_clock;

[[gnu::used]] constinit thread_local station* this_threads_quick_station = nullptr;
station* quick_station_by_call() noexcept { return this_threads_quick_station; }

namespace {

constinit thread_local station* this_threads_station = nullptr;

constexpr std::string_view has_ended = "the actor has ended";
constexpr std::string_view is_full = "its mailbox is full";

// Trains of a station: enough that the next one to be filled has rested in the shared cache (rail/train.hpp).
constexpr std::size_t trains = 32;

// Turns in a row without work after which an engine rests: who has been answered often asks again in between, and the
// engine need not be woken then, which costs several times what such a turn does.
constexpr int turns_before_rest = 16;

// At the train inbox before everything rests: some 30 ns each. A rest costs its station a microsecond and more, and others
// a wake, which takes up to 30 us across cores: who had rested for a shorter time than the looks take looks longer the
// next time.
constexpr int looks_before_rest = 64;
constexpr int looks_after_short_rest = 640;
constexpr auto short_rest = std::chrono::microseconds(20);

// Of what has come about as much is unloaded as a batch handles: so it is still in cache then. But all of it where some
// has stood for so long: in it are messages for actors that have nothing else to do.
constexpr auto longest_stand = std::chrono::microseconds(200);

std::string_view name_of(const cell& c) noexcept { return c.about == nullptr ? std::string_view() : c.about->name; }

}  // namespace

[[gnu::noinline]] station* station::here() noexcept { return this_threads_station; }

std::string text_of(const std::exception_ptr& failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const answered_failure& f) {
    return f.text;
  } catch (...) {
    return what_of(failure);
  }
}

station::station(hall& all, int index, int stations)
    : lanes_(static_cast<std::size_t>(stations)),
      all_(all),
      index_(index),
      train_inbox_([](void* self) noexcept { static_cast<station*>(self)->porter_.wake(); }, this),
      pool_(train_inbox_, bytes_a_train, std::max<std::size_t>(trains, 2 * lanes_.size()),
            2 * std::max<std::size_t>(trains, 2 * lanes_.size()), trains) {
  looks_ = looks_before_rest;
  spins_ = stations > 1 && static_cast<std::size_t>(stations) <= usable_cpus().size();
}

station::~station() {
  // All actors have ended; what is left are empty trains, and controls that came too late.
  sort_arrivals();
  while (!in_line_.empty()) {
    rail::train& t = in_line_.pop_front();
    if (t.head.channel == control::channel) delete static_cast<control*>(&t);
  }
}

// --- messages ---

void station::buy_slots() {
  blocks_.push_back(nullptr);
  try {
    blocks_.back() = std::make_unique_for_overwrite<slot[]>(slots_a_block);
  } catch (...) {
    blocks_.pop_back();
    throw;
  }
  for (std::size_t i = slots_a_block; i > 0; --i) {
    slot& fresh = blocks_.back()[i - 1];
    fresh.next = nullptr;  // a report may follow a list amid a change: each link is null, or another slot of ours
    fresh.what = nullptr;
    give_back(fresh);
  }
}

/// More in the list of free slots, which has none.
void station::loosen_string() {
  if (strings_ == nullptr) return buy_slots();
  slot* const first = strings_;
  const string whole = string::of(*first);
  strings_ = whole.next_string;
  take_back(first, whole.last);
}

/// The message in a slot of this station. `m` is empty then. \throws std::bad_alloc, before
slot* station::slot_of(slot& m) {
  slot* const s = take_slot();
  m.move_to(*s);
  return s;
}

/// It has no vacant slot.
inline void station::list_exempt(cell& c, slot& m) noexcept {
  slot* const s = slot_of(m);
  c.add(s, s);
  --c.room;
}

/// Of an actor that is queued. The room of what has been handled in this turn counts if nothing else is left. C6
inline bool station::has_room(cell& c) noexcept {
  if (c.room <= 0 && c.at != &c.front) settle(c);
  return c.room > 0;
}

/// Whether there is room for a message that is not exempt. If so, and if the actor is queued, there is a vacant slot
/// then: it is added. \throws std::bad_alloc
inline bool station::make_vacant(cell& c) {
  if (c.is == state::direct) queue_direct(c);
  if (c.is != state::queued || c.vacant != nullptr) return true;
  if (!has_room(c)) return false;
  // About as many as its last turn took, and twice that the next time; but one at a time where somebody waits for room,
  // who is let in by what counts as such.
  const auto some = (c.duties & duty_room) != 0 ? 1 : std::clamp<std::int64_t>(c.room, 1, c.step);
  extend(c, some, std::min(2 * some, c.room));
  return true;
}

slot* station::place_slowly(cell& c, std::uint32_t life) {
  if (c.life != life || c.is == state::idle) return nullptr;
  return make_vacant(c) ? c.place() : nullptr;
}

/// It is not idle, or has ended.
void station::tell_slowly(cell& c, slot* s, const char* call) {
  try {
    if (slot* const to = place_slowly(c, s->life())) {
      s->move_to(*to);
      return give_back(*s);
    }
  } catch (...) {  // no memory for its place
    lose(*s);
    give_back(*s);
    throw;
  }
  slot m;  // who waits may be another thread's afterwards
  s->move_to(m);
  give_back(*s);
  m.to = &c;
  send(m, call);
}

/// Such messages are loaded next, if the mailbox has room as far as is known here. \return false: it has not, or there
/// is no train.
bool station::admit(cell& c, std::uint64_t which, const kind& what) {
  if (c.full.load(std::memory_order_relaxed)) return false;  // relaxed: a hint; who waits asks again under the gate
  lane& l = lane_to(*c.home);
  if (couple(l, c, which, what)) return true;
  return open_train(l, *c.home) && !has_become_full(c) && couple(l, c, which, what);
}

/// Since the train that has been opened came home. If so, it departs without anything when nothing else is left to do.
bool station::has_become_full(const cell& c) noexcept {
  if (!c.full.load(std::memory_order_relaxed)) return false;  // relaxed: set before the train was sent home
  wake_engine();
  return true;
}

/// Such messages are loaded next. \return false: no train is open.
bool station::couple(lane& l, cell& c, std::uint64_t which, const kind& what) {
  if (l.open == nullptr) return false;
  if (l.load.couple(c, which, what)) return true;
  dispatch(l, *c.home);
  return false;
}

/// \return false: there is none.
bool station::open_train(lane& l, station& to) {
  if (!pool_.has(0)) sort_arrivals();  // some may have come home
  l.open = pool_.take(0);
  if (l.open == nullptr) return false;
  count(sent_);
  ++opened_;
  // relaxed: a hint. Who sleeps there gets the first message at once, the others together.
  const bool at_once = to.armed_.load(std::memory_order_relaxed);
  l.load.begin(*l.open, at_once ? 1 : messages_a_train);
  if (!at_once) wake_engine();  // it sends what is open when there is nothing else to do
  return true;
}

void station::dispatch(lane& l, station& to) noexcept {
  --opened_;
  l.load.end(*l.open);
  to.train_inbox_.deliver(*std::exchange(l.open, nullptr));
}

void station::dispatch_opened() noexcept {
  for (std::size_t i = 0; i < lanes_.size(); ++i) {
    if (lanes_[i].open != nullptr) dispatch(lanes_[i], *all_.stations()[i]);
  }
}

/// Who sends it is told by an exception.
void station::lose(slot& m) noexcept { m.what->drop(m, {{}, m.what->method, "it could not be sent"}); }

void station::send(slot& m, const char* call) {
  cell& c = *m.to;
  try {
    for (;;) {
      station* const at = here();
      if (at == nullptr || &at->all_ != &c.home->all_) {
        if (must_wait(c, call)) {
          if (wait_for_room(m, call)) return;
          continue;
        }
        return c.home->all_.send_outside(m);
      }
      if (at == c.home ? at->send_here(m, call) : at->send_far(m, call)) return;
    }
  } catch (...) {
    if (m.what != nullptr) lose(m);
    throw;
  }
}

/// Of another worker's actor, or another thread's. \return whether a sender has to wait for room.
bool station::must_wait(cell& c, const char* call) {
  // relaxed: a hint, as above; the policy does not change while the actor lives
  if (!c.full.load(std::memory_order_relaxed)) return false;
  const auto policy = c.when_full.load(std::memory_order_relaxed);
  if (policy == overflow::fail) throw mailbox_full(std::string(call) + ": the mailbox is full");
  return policy == overflow::suspend;
}

/// \return whether it is gone; else again.
bool station::send_here(slot& m, const char* call) {
  cell& c = *m.to;
  if (c.life != m.life()) {
    bury(m, {}, has_ended);
    return true;
  }
  if (!make_vacant(c)) {
    switch (c.when_full.load(std::memory_order_relaxed)) {  // relaxed: this thread's
      case overflow::drop_newest: bury(m, name_of(c), is_full); return true;
      case overflow::drop_oldest: drop_oldest(c); break;
      case overflow::fail:
        throw mailbox_full(std::string(call) + ": the mailbox of actor `" + std::string(name_of(c)) +
                           "` is full: " + std::to_string(c.capacity - c.room) + " messages");
      case overflow::suspend: declare_full(c); return wait_for_room(m, call);
    }
  }
  if (c.is == state::idle) {
    tell_idle(c, slot_of(m));  // may throw
  } else {
    list_any(c, m);
  }
  return true;
}

bool station::send_far(slot& m, const char* call) {
  cell& c = *m.to;
  if (must_wait(c, call)) {
    dispatch_all();  // what was sent before goes first
    return wait_for_room(m, call);
  }
  lane& l = lane_to(*c.home);
  if (!l.load.takes(c, m.which, *m.what) && !couple(l, c, m.which, *m.what)) {
    if (!open_train(l, *c.home)) {
      wait_for_train();
      return false;
    }
    if (has_become_full(c) || !couple(l, c, m.which, *m.what)) return false;
  }
  m.what->move_arguments(m.room_, l.load.place());
  depart_far(c, m.what->bytes);
  return true;
}

void station::wait_for_train() {
  sched::this_fiber::require_wait("tell");
  dispatch_all();
  waiter w;
  w.next = std::exchange(train_wanted_, &w);
  wake_engine();  // trains come home by its unloading
  w.sleep("a train to come home");
}

/// The sender waits; the actor's station takes the message out of its frame. \return false: there is room, or nobody.
bool station::wait_for_room(slot& m, const char* call) {
  cell& c = *m.to;
  if (sched::this_fiber::inside()) sched::this_fiber::require_wait(call);
  sender me(m, here());
  auto& gate = c.home->gate_;
  bool lives = true;
  {
    const std::scoped_lock graph(wait_graph());
    {
      const std::scoped_lock held(gate);
      lives = c.life == m.life();
      if (lives) {
        if (!c.full.load(std::memory_order_relaxed)) return false;  // relaxed: C3, under the gate
        (c.waiting == nullptr ? c.waiting : c.waiting_last->next_sender) = &me;
        c.waiting_last = &me;
      }
    }
    try {
      if (lives) now_waits({&c, nullptr, &me}, call);
    } catch (...) {
      const std::scoped_lock held(gate);
      sender* before = nullptr;
      sender* at = c.waiting;
      while (at != nullptr && at != &me) before = std::exchange(at, at->next_sender);
      if (at != nullptr) {
        (before == nullptr ? c.waiting : before->next_sender) = me.next_sender;
        if (c.waiting_last == &me) c.waiting_last = before;
        throw;
      }
      // It is being placed: no circle.
    }
  }
  if (!lives) {
    c.home->bury(m, {}, has_ended);  // here, as what ends with it may wait
    return true;
  }
  me.sleep("room in a mailbox");
  waits_no_more();
  m.what = nullptr;
  return true;
}

void station::bury(slot& m, std::string_view name, std::string_view why) noexcept {
  const dead_letter as{name, m.what->method, why};
  all_.dead(as);
  m.what->drop(m, as);
  m.what = nullptr;
}

/// Others see that, from now on.
void station::declare_full(cell& c) noexcept {
  oblige(c, duty_room);
  c.set_full(true);
}

void station::drop_oldest(cell& c) noexcept {
  slot* const oldest = c.take_first();
  bury(*oldest, name_of(c), is_full);
  give_back(*oldest);
}

/// What has come: trains that have come home are at home then, and who waits for one is told. The others stand in line.
void station::sort_arrivals() noexcept {
  bool some_home = false;
  for (rail::train* t = train_inbox_.arrivals(); t != nullptr;) {
    rail::train* const next = t->next;
    if (t->head.empty != 0) {
      pool_.put(*t);
      some_home = true;
    } else {
      in_line_.push_back(*t);
      if (t->head.channel == control::channel) ++controls_in_line_;
    }
    t = next;
  }
  // All of them, for who is woken may find no use for a train: the mailbox has become full.
  waiter* w = some_home ? std::exchange(train_wanted_, nullptr) : nullptr;
  while (w != nullptr) std::exchange(w, w->next)->wake();
}

/// Those that stand first in line: trains with about as many messages as a batch handles, and all as far as the last
/// control.
void station::unload_line() noexcept {
  sort_arrivals();
  for (std::int64_t left = messages_a_batch; !in_line_.empty();) {
    rail::train& t = in_line_.pop_front();
    if (t.head.channel == control::channel) {
      --controls_in_line_;
      obey(static_cast<control&>(t));
      continue;
    }
    left -= unload_train(t);
    if (left <= 0 && controls_in_line_ == 0 && !in_line_.empty() && may_stand()) break;
  }
  stands_ &= !in_line_.empty();
}

/// All trains in line. Controls stay: what ends with one is somebody's code.
void station::unload_trains() noexcept {
  sort_arrivals();
  rail::train_list controls;
  while (!in_line_.empty()) {
    rail::train& t = in_line_.pop_front();
    if (t.head.channel == control::channel) {
      controls.push_back(t);
    } else {
      unload_train(t);
    }
  }
  in_line_ = controls;
  stands_ = false;
}

/// May wait.
void station::obey(control& c) noexcept {
  stand_by();
  c.what();
  delete &c;
  count(done_);  // with all that ended with it
}

/// \return how many messages it had.
std::int64_t station::unload_train(rail::train& t) noexcept {
  const auto dead = dead_.size();
  const auto messages = unload_goods(t);
  rail::send_home(t);
  dead_.size() == dead ? count(done_) : void(++trains_of_dead_);
  return messages;
}

/// Whether those in line may wait for another batch.
bool station::may_stand() noexcept {
  if (directed_) return false;
  const auto time = steady_clock::now();
  if (!std::exchange(stands_, true)) stands_since_ = time;
  return time - stands_since_ < longest_stand;
}

/// Calls nobody's code, as what else has come must not overtake what is amid this. \return how many messages.
std::int64_t station::unload_goods(rail::train& t) noexcept {
  std::int64_t messages = 0;
  for (unloader from(t); from.next_carriage();) {
    messages += from.left();
    cell& c = *from.of().to;
    while (from.more()) {
      const bool lives = c.life == from.of().life();
      if (lives && c.is == state::idle) {
        slot* const s = take_slot();
        from.move_to(*s);
        tell_idle(c, s);
      } else if (lives && (c.vacant != nullptr || make_vacant_for(c, from.left()))) [[likely]] {
        from.move_to(*c.place());
      } else if (lives && c.when_full.load(std::memory_order_relaxed) == overflow::drop_oldest) {  // relaxed: ours
        dead_.push_back({c.take_first(), &c, c.life, is_full});
      } else {
        slot* const s = take_slot();
        from.move_to(*s);
        dead_.push_back({s, lives ? &c : nullptr, c.life, lives ? is_full : has_ended});
      }
    }
  }
  return messages;
}

/// For so many messages that have come, and are accepted unless the policy is to drop some, of an actor that is not
/// idle. \return whether there is a vacant slot, for as many at most.
bool station::make_vacant_for(cell& c, std::int64_t messages) {
  if (c.is == state::direct) queue_direct(c);
  if (has_room(c)) {
    messages = std::min(messages, c.room);
  } else {
    if ((c.duties & duty_room) == 0) declare_full(c);
    const auto policy = c.when_full.load(std::memory_order_relaxed);  // relaxed: this thread's
    if (policy == overflow::drop_newest || policy == overflow::drop_oldest) return false;
  }
  extend(c, messages, messages, messages);
  return true;
}

/// What was found dead when it was unloaded.
void station::bury_dead() noexcept {
  stand_by();  // what ends with it may wait
  const auto dead = std::exchange(dead_, {});
  const auto brought_by = std::exchange(trains_of_dead_, 0);
  for (const auto& d : dead) {
    const bool lives = d.whose != nullptr && d.whose->life == d.life;
    bury(*d.message, lives ? name_of(*d.whose) : std::string_view(), d.why);
    give_back(*d.message);
  }
  count(done_, brought_by);
}

void station::place_exempt(slot& m) noexcept {
  cell& c = *m.to;
  if (c.life != m.life()) [[unlikely]]
    return bury(m, {}, has_ended);
  list_any(c, m);
}

/// A message is about to be handled, and senders wait, or have been told that there is no room.
void station::make_room(cell& c) noexcept {
  sender* first = nullptr;
  {
    const std::scoped_lock held(gate_);
    sender** end = &first;
    for (auto room = c.room; room > 0 && c.waiting != nullptr; --room) {
      *end = c.waiting;
      c.waiting = c.waiting->next_sender;
      (*end)->next_sender = nullptr;
      end = &(*end)->next_sender;
    }
    if (c.waiting == nullptr && c.room > 0) c.set_full(false);
  }
  if (first == nullptr) return;
  bool some_from_afar = false;
  for (const sender* w = first; w != nullptr; w = w->next_sender) some_from_afar |= w->from != this;
  if (some_from_afar) unload_trains();  // what they had sent before comes first
  while (first != nullptr) {
    sender& w = *std::exchange(first, first->next_sender);
    list_any(c, *w.message);
    w.wake();
  }
  if (c.room <= 0) declare_full(c);  // what was unloaded meanwhile, and those who were let in, took all of it
}

// --- engines ---

void station::begin() noexcept {
  this_threads_station = this;
  directed_ = sched::this_worker::directed();
  if (!directed_) this_threads_quick_station = this;
  ++fibers_;
  try {
    all_.runtime().spawn([this] { run_porter(); },
                         {.worker = index_, .name = "actors' porter", .even_without_stack = true});
  } catch (...) {
    could_not_begin(std::current_exception());
  }
}

/// Instead of the porter, which is among fibers_ already.
void station::could_not_begin(const std::exception_ptr& why) noexcept {
  --fibers_;
  this_threads_station = nullptr;
  this_threads_quick_station = nullptr;
  all_.report_begun(why);
}

void station::call_engine() noexcept {
  ++standbys_;
  if (idle_ == nullptr) return new_engine();
  engine* const e = std::exchange(idle_, idle_->next_idle);
  --idles_;
  e->called = true;
  e->who.wake();
}

void station::new_engine() {
  ++fibers_;
  all_.runtime().spawn(
      [this] { run_engine(); },
      {.worker = index_, .name = "actors", .stack_bytes = all_.wanted().stack_bytes, .even_without_stack = true});
}

void station::handler_waits(cell& c) noexcept {
  c.set_duty(duty_parted);
  if (c.is_marked()) return;
  c.marked = 0;  // none, also not of those that this turn has handled: extend() sees no difference
  if (!c.empty()) c.mark(c.begun() + 1);
}

/// The engine that ran last, if it is in a handler, waits there.
inline void station::take_over(engine& me) noexcept {
  if (engine_ != nullptr && engine_ != &me && engine_->busy != nullptr) handler_waits(*engine_->busy);
  engine_ = &me;
}

void station::run_engine() {
  engine me;
  me.who = sched::this_fiber::self();
  const engine_of_this_fiber_is here(me);
  if (!sched::this_fiber::may_wait()) [[unlikely]]
    return run_engine_without_stack(me);
  for (;;) {
    for (int turns = 0;;) {
      begin_turn(me);
      turns = work(me) ? 0 : turns + 1;
      const bool one_too_many = standbys_ > 1;
      if (turns > 0 && (over_ || one_too_many || (turns > turns_before_rest && !look_around()))) break;
      ++standbys_;
      sched::this_fiber::yield();
    }
    engine_ = nullptr;
    awake_ = standbys_ != 0 && open_;
    if (over_) break;
    if (standbys_ == 0 && !rest_engine()) {
      ++standbys_;
      continue;
    }
    if (idles_ >= idle_engines) break;
    me.next_idle = std::exchange(idle_, &me);
    ++idles_;
    while (!me.called) sched::this_fiber::park("messages");
    me.called = false;
  }
  fiber_left();
}

inline void station::begin_turn(engine& me) noexcept {
  --standbys_;
  take_over(me);
  // relaxed: the owner's thread; others only take a hint
  if (armed_.load(std::memory_order_relaxed)) {
    train_inbox_.disarm();
    armed_.store(false, std::memory_order_relaxed);
    if (spins_) looks_ = steady_clock::now() - rested_ < short_rest ? looks_after_short_rest : looks_before_rest;
  }
}

/// No engine runs or is ready: S2. \return false: something has come.
bool station::rest_engine() noexcept {
  if (!train_inbox_.arm()) return false;
  armed_.store(true, std::memory_order_relaxed);
  all_.idle();
  if (spins_) rested_ = steady_clock::now();
  return true;
}

/// An engine whose fiber got no stack: one batch, in which whatever would wait throws why. So messages whose handlers
/// do not wait are handled, and the others fail as handlers do that throw. Another engine, which may get a stack, goes
/// on.
void station::run_engine_without_stack(engine& me) {
  begin_turn(me);
  work(me);
  engine_ = nullptr;
  awake_ = standbys_ != 0 && open_;
  if (!over_ && standbys_ == 0 && !rest_engine()) call_engine();
  fiber_left();
}

void station::let_engines_run() {
  if (!open_) return;
  if (standbys_ == 0) call_engine();
  const sched::this_fiber::stay on_this_worker;
  struct one_asker {
    explicit one_asker(station& at) noexcept : at_(at) { ++at_.askers_; }
    ~one_asker() {
      --at_.askers_;
      if (at_.engine_ != nullptr && at_.standbys_ == 0) at_.call_engine();  // it waits in a handler: S1
    }
    station& at_;
  } const asker(*this);
  sched::this_fiber::yield();
}

void station::run_porter() {
  try {
    sched::this_fiber::require_stack();
  } catch (...) {
    return could_not_begin(std::current_exception());
  }
  porter_ = sched::this_fiber::self();
  call_engine();
  all_.station_begun();
  while (!over_) {
    sched::this_fiber::park("messages of others");
    wake_engine();
  }
  fiber_left();
}

void station::fiber_left() noexcept {
  if (--fibers_ != 0 || !has_begun()) return;
  this_threads_station = nullptr;
  this_threads_quick_station = nullptr;
  all_.station_left();  // and with it, perhaps, the station
}

/// A message for an actor of this station, whatever it is doing, and whether or not there is room. `m` is empty then.
void station::list_any(cell& c, slot& m) noexcept {
  if (c.is == state::idle) return tell_idle(c, slot_of(m));
  make_vacant(c) ? m.move_to(*c.place()) : list_exempt(c, m);
}

/// More than one message: they go through its mailbox.
void station::queue_direct(cell& c) noexcept {
  c.queue();
  if (favoured_ != &c) return;
  slot* const s = std::exchange(favoured_first_, nullptr);
  c.add(s, s);
  --c.room;
}

/// Adds vacant slots to a mailbox that has none: `some` at most, or if a string of them is at hand not more than
/// `most`.
/// \param come  so many messages have come, for these slots
void station::extend(cell& c, std::int64_t some, std::int64_t most, std::int64_t come) {
  c.step = static_cast<std::uint8_t>(std::min(2 * c.step, messages_a_turn));
  slot* first = strings_;
  slot* last = nullptr;
  std::int64_t count = 1;
  if (first != nullptr && string::of(*first).length <= most) {
    const auto& whole = string::of(*first);
    strings_ = whole.next_string;
    last = whole.last;
    count = whole.length;
  } else {
    if (free_ == nullptr) loosen_string();
    first = last = free_;
    for (; count < some && last->next != nullptr; ++count) last = last->next;
    free_ = last->next;
  }
  // Only while a handler waits: a mark for busy actors too made fan-in between two workers 13 to 20 % slower.
  if ((c.duties & duty_parted) != 0 && c.marked <= c.counted) [[unlikely]]
    c.mark(c.length() + std::min(come, count));
  c.add(first, last);
  c.vacant = first;
  c.room -= count;
}

/// Who was just sent to goes next; and somebody sees to it.
void station::favour(cell& c, slot* s) noexcept {
  if (favoured_ != nullptr) favour_nobody();
  favoured_ = &c;
  favoured_first_ = s;
  wake();
}

void station::favour_nobody() noexcept {
  cell& c = *favoured_;
  if (c.is == state::direct) queue_direct(c);
  favoured_ = nullptr;
  enqueue(c);
}

void station::oblige(cell& c, duty d) noexcept {
  if (favoured_ == &c) favour_nobody();  // S5
  c.set_duty(d);
}

/// An actor is queued: an engine sees to it.
void station::wake() noexcept {
  if (!open_) count(sent_);
  open_ = true;
  awake_ = true;
  wake_engine();
}

/// Nobody is queued.
void station::end_of_spell() noexcept {
  if (batches_ != 0 || !open_) return;
  open_ = false;
  awake_ = false;
  count(done_);
}

/// A turn of one actor: the message that is not in its mailbox, and what has come there meanwhile.
/// \param left  messages of the batch \return how many are left then; none if another engine goes on.
inline int station::run(engine& me, cell& c, slot& direct, int left) {
  me.busy = &c;
  me.direct = &direct;
  --left;
  try {
    direct.what->run(direct, c.object);
  } catch (...) {
    me.direct = nullptr;
    give_back(direct);
    return run_failed(me, c, left);
  }
  give_back(direct);
  if (c.front.next != nullptr || c.duties != no_duty) return run_on(me, c, left);
  c.is = state::idle;
  return left;
}

/// A turn of one actor: what is in its mailbox, up to messages_a_turn. \return as run()
int station::run_on(engine& me, cell& c, int left) {
  me.busy = &c;
  me.direct = nullptr;
  void* const object = c.object;
  int more = messages_a_turn;
  try {
    for (slot* s = c.front.next; s != c.vacant && more != 0; s = s->next, --more) {
      if (!c.must_be_seen_to(messages_a_turn - more)) [[likely]] {
        c.at = s;
      } else if (!may_handle(me, c, *s, messages_a_turn - more)) {
        break;
      }
      s->what->run(*s, object);
    }
  } catch (...) {
    const int handled = c.begun();  // counted anew: a variable that is needed here is a load and a store each time
    leave_handled(c, handled);
    return run_failed(me, c, left - handled);
  }
  const int handled = messages_a_turn - more;
  leave_handled(c, handled);
  return end_turn(me, c, left - handled);
}

/// Amid a turn: the room of what has been handled, and of what is being, counts. C6
void station::settle(cell& c) noexcept { c.count(c.begun()); }

/// At the end of a turn of so many messages: their slots leave the mailbox. C6
void station::leave_handled(cell& c, int handled) noexcept {
  if (handled == 0) return;
  c.count(handled);
  c.counted = 0;
  c.marked -= handled;
  c.step = static_cast<std::uint8_t>(handled);
  auto* const last = static_cast<slot*>(c.at);
  slot* const first = std::exchange(c.front.next, last->next);
  if (c.end == last) c.end = &c.front;
  c.at = &c.front;
  if (handled < string::shortest) return take_back(first, last);
  ::new (static_cast<void*>(first->room_)) string{last, strings_, handled};
  strings_ = first;
}

/// It has no messages, and becomes idle.
void station::rest(cell& c) noexcept {
  c.is = state::idle;
  if (c.vacant == nullptr) return;
  take_back(c.vacant, static_cast<slot*>(c.end));
  c.vacant = c.front.next = nullptr;
  c.end = &c.front;
}

int station::run_failed(engine& me, cell& c, int left) {
  if (failed(c, std::current_exception())) return end_turn(me, c, left);
  return engine_ == &me ? left : 0;
}

/// Before message `s`, after so many in this turn: a duty calls. \return whether it is handled in this turn.
bool station::may_handle(const engine& me, cell& c, slot& s, int handled) noexcept {
  link* const before = std::exchange(c.at, &s);
  if (see_to(me, c, handled)) return true;
  c.at = before;
  return false;
}

/// Before a message, after so many in this turn. \return whether the turn goes on.
bool station::see_to(const engine& me, cell& c, int handled) noexcept {
  if (engine_ != &me || (c.duties & wishes) != 0) return false;
  c.clear_duties(duty_parted);
  if ((c.duties & duty_room) != 0 && c.half_empty(handled + 1)) {
    c.count(handled + 1);
    make_room(c);
  }
  return true;
}

/// After its last message of a turn, or instead of its first. \return as run().
int station::end_turn(engine& me, cell& c, int left) {
  if (engine_ != &me) left = 0;
  c.clear_duties(duty_parted);
  if ((c.duties & wishes) != 0) {
    me.busy = nullptr;
    if (!grant(c)) return left;
  }
  if (c.empty()) {
    rest(c);
  } else {
    enqueue(c);
  }
  return left;
}

/// Where there may be several.
station::turn station::next_in_queue() noexcept {
  if (favoured_ != nullptr) {
    if (++favours_ <= favours_in_a_row) {
      return {std::exchange(favoured_, nullptr), std::exchange(favoured_first_, nullptr)};  // S5
    }
    favour_nobody();
  }
  favours_ = 0;
  if (queue_ == nullptr) return {};
  return {std::exchange(queue_, queue_->next), nullptr};
}

/// Where a chooser decides, any of the actors that are queued comes next.
void station::mix() noexcept {
  if (favoured_ != nullptr) favour_nobody();
  std::size_t queued = 0;
  for (const cell* c = queue_; c != nullptr; c = c->next) ++queued;
  for (auto passed = sched::this_worker::choose(queued); passed > 0; --passed) {
    enqueue(*std::exchange(queue_, queue_->next));
  }
}

/// A batch. \return false: there was nothing to do.
bool station::work(engine& me) {
  const bool moved = unload();
  if (favoured_ == nullptr && queue_ == nullptr) {
    end_of_spell();
    return dispatch_all() || moved;
  }
  stand_by();
  awake_ = true;
  if (directed_) mix();
  int left = directed_ ? 1 : messages_a_batch;
  ++batches_;
  do {
    turn next{favoured_, favoured_first_};
    if (next.direct != nullptr && queue_ == nullptr) [[likely]] {
      favoured_ = nullptr;
      favoured_first_ = nullptr;
    } else {
      next = next_in_queue();
      if (next.whose == nullptr) {
        me.busy = nullptr;  // what ends with a dead message is nobody's handler
        if (!unload()) break;
        continue;
      }
    }
    left = next.direct != nullptr ? run(me, *next.whose, *next.direct, left) : run_on(me, *next.whose, left);
  } while (left > 0);
  --batches_;
  me.busy = nullptr;
  if (engine_ == &me) dispatch_all();  // else it has waited, and another one has gone on
  return true;
}

/// Where nothing else is ready: for a moment. \return whether something has come.
bool station::look_around() noexcept {
  if (!spins_) return false;
  for (int i = 0; i < looks_ && !sched::this_worker::has_runnable(); ++i) {
    if (train_inbox_.any()) return true;
    relax();
  }
  return false;
}

// --- lives ---

void station::at_home(std::function<void()> what) {
  auto* const c = new control(std::move(what));
  all_.count_sent();
  train_inbox_.deliver(*c);
}

address station::take_cell(std::unique_ptr<biography>& about, void* object, std::uint32_t capacity,
                           overflow when_full) {
  const std::scoped_lock held(gate_);
  if (closed_) throw error("spawn: the manager has been stopped");
  if (vacant_ == nullptr) {
    cells_.push_back(std::make_unique<cell>(*this));
    vacant_ = cells_.back().get();
  }
  cell& c = *std::exchange(vacant_, vacant_->next);
  c.next = nullptr;
  c.about = std::move(about);
  c.object = object;
  c.capacity = capacity;
  c.when_full.store(when_full, std::memory_order_relaxed);  // relaxed: the ref's way publishes it
  all_.living.fetch_add(1, std::memory_order_relaxed);      // relaxed: a count, see hall::stop()
  return {&c, c.life};
}

void station::wish_for(cell& c, std::uint32_t life, duty w) noexcept {
  if (c.life != life || c.about == nullptr) return;
  oblige(c, w);
  if (c.is != state::idle) return;
  c.queue();
  enqueue(c);
  wake();
}

void station::close() noexcept {
  const std::scoped_lock held(gate_);
  closed_ = true;
}

void station::end_all() noexcept {
  const std::scoped_lock held(gate_);
  for (const auto& c : cells_) wish_for(*c, c->life, wish_end);
}

void station::end_running() {
  cell* const me = cell_of_this_fiber();
  if (me == nullptr) throw usage_error("this_actor::stop: called outside a handler");
  me->set_duty(wish_end);
}

void station::append_busy(std::string& names) const {
  for (const auto& c : cells_) {
    if (c->about == nullptr || c->is == state::idle) continue;
    names += names.empty() ? "`" : ", `";
    names += std::string(name_of(*c)) + '`';
  }
}

/// What has been wished for the actor, which is not busy.
bool station::grant(cell& c) {
  const auto wanted = std::exchange(c.duties, static_cast<std::uint8_t>(c.duties & ~wishes));
  if ((wanted & wish_end) != 0) {
    end(c, {});
    return false;
  }
  all_.restarts.fetch_add(1, std::memory_order_relaxed);  // relaxed: a count
  return make_anew(c);
}

bool station::failed(cell& c, const std::exception_ptr& why) {
  auto& about = *c.about;
  const std::string text = text_of(why);
  const bool can = about.above != nullptr && about.restarts && about.make != nullptr;
  if (can && about.above->failure(&c, nullptr) == supervisor_state::verdict::anew) {
    all_.restarts.fetch_add(1, std::memory_order_relaxed);  // relaxed: a count
    return make_anew(c);
  }
  if ((about.above == nullptr || can) && all_.is_news(text)) {
    all_.say("actor " + (about.name.empty() ? std::string("without a name") : '`' + about.name + '`') +
             " has ended: " + text + (can ? "; its supervisor has given up" : ""));
  }
  end(c, text);
  return false;
}

bool station::make_anew(cell& c) {
  auto& about = *c.about;
  if (std::exchange(about.whole, false)) about.finish(c.object);
  std::exception_ptr failure;
  try {
    about.make(c.object);
    about.whole = true;
    return true;
  } catch (...) {
    failure = std::current_exception();
  }
  return failed(c, failure);
}

void station::end(cell& c, const std::string& why) noexcept {
  const auto about = std::move(c.about);
  sender* waiting;
  {
    const std::scoped_lock held(gate_);
    ++c.life;  // C4
    c.set_full(false);
    waiting = std::exchange(c.waiting, nullptr);
  }
  while (waiting != nullptr) {
    sender& w = *std::exchange(waiting, waiting->next_sender);
    bury(*w.message, about->name, has_ended);
    w.wake();
  }
  while (!c.empty()) {
    slot& s = *c.take_first();
    bury(s, about->name, has_ended);
    give_back(s);
  }
  rest(c);
  c.duties = no_duty;
  if (about->whole) about->finish(c.object);
  about->free(c.object);
  c.object = nullptr;
  if (about->above != nullptr) about->above->forget(c);
  all_.forget(about->name, c);
  const ended news{about->name, why};
  for (const auto& tell : about->monitors) tell(news);
  no_handler_of(c);  // the next actor there is another's, and may be born at once
  {
    const std::scoped_lock held(gate_);
    c.next = std::exchange(vacant_, &c);
  }
  all_.actor_ended();
}

void station::leave() noexcept {
  over_ = true;
  while (idle_ != nullptr) call_engine();
  wake_engine();
  porter_.wake();
}

}  // namespace detail::typed
}  // namespace v1
}  // namespace shunt
