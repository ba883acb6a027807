#include <shunt/actor/core.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <utility>

#include <shunt/actor/detail/stage.hpp>
#include <shunt/base/clock.hpp>

namespace shunt {
inline namespace v1 {
namespace actors {
namespace detail {
namespace {

std::string named(const actor* a) {
  if (!a->name.empty()) return '`' + a->name + '`';
  char text[32];
  std::snprintf(text, sizeof text, "actor %p", static_cast<const void*>(a));
  return text;
}

}  // namespace

// --- a seat, and who runs there ---

[[gnu::used]] constinit thread_local turn* this_threads_quick_turn = &nobodys_turn;
turn* quick_turn_by_call() noexcept { return this_threads_quick_turn; }

void seat::queue_outside(actor& a) noexcept { of->queue_outside(a); }
void seat::wake_one() noexcept { of->wake_one(); }

void runner::work() noexcept {
  fiber_ = sched::this_fiber::self();
  const int turns = sched::this_worker::directed() ? 1 : turns_a_duty;
  if (!of->come()) return;
  set_quick_turn();
  bool due = sched::this_worker::directed();
  while (actor* a = search(due)) {
    int left = turns;
    do {
      run(*a);
    } while (--left != 0 && ready_.pop(a));
    due = left == 0;
  }
  if (this_threads_quick_turn == this) this_threads_quick_turn = &nobodys_turn;
}

/// Handlers' sends find this seat at once; but where a chooser decides, as who sends has to ask it first.
void runner::set_quick_turn() noexcept {
  if (!sched::this_worker::directed()) this_threads_quick_turn = this;
}

/// One turn: the messages that have arrived so far.
inline void runner::run(actor& a) noexcept {
  ++done_.turns;
  message* m = a.inbox_.begin();
  whose = reinterpret_cast<std::uintptr_t>(&a);
  if (of->failed_.load(std::memory_order_relaxed) || a.recv == nullptr) [[unlikely]] {  // relaxed: sooner or later
    refuse(m, a);
  } else {
    std::uint64_t calls = 0;
    try {
      do {
        message& arrived = *m;
        m = arrived.next_;
        arrived.where_.store(reinterpret_cast<std::uintptr_t>(&a), std::memory_order_relaxed);  // relaxed: see access()
        ++calls;
        a.recv(arrived, a);
      } while (m != nullptr);
    } catch (...) {
      fail(m, a);
    }
    done_.messages += calls;
  }
  if (a.inbox_.rest() == after_mail::queue_it) [[unlikely]]
    queue(a);
}

/// `a` cannot handle anything, or is not to any more.
void runner::refuse(message* m, actor& a) noexcept {
  if (a.recv == nullptr) {
    of->fail(std::make_exception_ptr(usage_error("run: " + named(&a) + " has got a message, and has no handler")));
  }
  drop(m, a);
}

/// In the catch block: a handler of `a` threw.
void runner::fail(message* m, actor& a) noexcept {
  of->fail(std::current_exception());
  drop(m, a);
}

/// After a failure: what is left becomes the actor's, without a call.
void runner::drop(message* m, actor& a) noexcept {
  for (; m != nullptr; m = m->next_) {
    m->where_.store(reinterpret_cast<std::uintptr_t>(&a), std::memory_order_relaxed);  // relaxed: see access()
  }
}

/// Duties, and others' queues.
/// \param due  whether other fibers' turn has come. \return nullptr when the run is over.
actor* runner::search(bool due) noexcept {
  whose = no_actor;
  if (due) {
    sched::this_fiber::yield();
    if (sched::this_worker::directed()) mix();
    if (actor* const a = of->take_outside()) return a;
    if (actor* const a = ready_.pop()) return a;
  }
  do {
    for (int i = 0; i < looks_before_sleep; ++i) {
      if (actor* const a = steal()) return a;
      if (sights_.size() == 1) break;
      rest();
    }
  } while (of->sleep(*this) == stage::after_sleep::look_again);
  return nullptr;
}

/// Where a chooser decides, any of the actors that are queued comes next.
void runner::mix() noexcept {
  constexpr int most = 64;
  for (int i = 0; i < most; ++i) {
    if (actor* const a = of->take_outside()) queue(*a);
  }
  for (auto passed = sched::this_worker::choose(ready_.look().items); passed > 0; --passed) queue(*ready_.pop());
}

/// Between two looks: other fibers of this worker run.
void runner::rest() noexcept {
  relax();
  sched::this_fiber::yield();
}

/// Looks once at every other queue.
actor* runner::steal() noexcept {
  if (actor* const a = of->take_outside()) return a;
  const auto seats = sights_.size();
  for (std::size_t i = 1; i < seats; ++i) {
    const auto which = (index_ + i) % seats;
    runner& victim = *of->seats_[which];
    const auto seen = victim.ready_.look();
    if (seen.items == 0) continue;
    if (seen.items == 1) {
      // Its worker will run it next, while its messages are in cache; unless that is busy for long.
      single& mine = sights_[which];
      if (mine.front != seen.front) mine = {seen.front, 0};
      if (++mine.looks < looks_at_a_single) continue;
    }
    if (actor* const a = victim.ready_.steal_half(ready_)) {
      ++done_.thefts;
      return a;
    }
  }
  return nullptr;
}

// --- the stage ---

void stage::refuse(const char* call, const actor* to, const std::string& why) const {
  std::string text = call;
  if (to != nullptr) text += " to " + named(to);
  throw usage_error(text + ": " + why);
}

/// The message is not the caller's.
void stage::refuse_foreign(const char* call, const message& m, const actor* to) const {
  const auto where = m.where_.load(std::memory_order_relaxed);  // relaxed: for the text
  const auto* const who = reinterpret_cast<const actor*>(where & ~message::under_way);
  if (where != message::nobodys && (where & message::under_way) != 0) {
    refuse(call, to, "the message is on its way to " + named(who) + " already; send it again when it has arrived");
  }
  if (who != nullptr) {
    refuse(call, to, "the message is " + named(who) + "'s: only its handler may send it. Ask access() before");
  }
  refuse(call, to, "called outside of a handler while the engine runs; send from a handler, or before run()");
}

/// The seat whose handler the caller is; nullptr if there is none.
runner* stage::runner_here() const noexcept {
  const int index = sched::this_worker::index();
  if (index < 0 || &sched::this_worker::current() != runtime_ || static_cast<std::size_t>(index) >= seats_.size()) {
    return nullptr;
  }
  runner* const here = seats_[static_cast<std::size_t>(index)].get();
  return here->runs_a_handler() ? here : nullptr;
}

/// What the inlined send() did not find right: a message that was nobody's, a seat that is not the thread's quick turn,
/// a chooser, a caller that is no handler, or a mistake.
void stage::send_slowly(message& m, actor& to) {
  sched::this_fiber::interleave();
  auto where = m.where_.load(std::memory_order_relaxed);
  const auto next = reinterpret_cast<std::uintptr_t>(&to) | message::under_way;
  const bool running = running_.load(std::memory_order_acquire);  // acquire: pairs with set_up(), for seats_
  runner* const here = running ? runner_here() : nullptr;
  const bool may = running ? here != nullptr && (where == message::nobodys || where == here->whose) : !m.on_its_way();
  // relaxed: decides who of several sends it, and nothing else
  if (!may || !m.where_.compare_exchange_strong(where, next, std::memory_order_relaxed)) refuse_foreign("send", m, &to);
  if (here != nullptr) here->set_quick_turn();
  if (to.inbox_.push(m) == after_mail::nothing) return;
  if (here != nullptr) {
    here->queue(to);
  } else {
    queue_outside(to);
  }
}

void stage::give(message& m, actor& a) {
  auto where = m.where_.load(std::memory_order_relaxed);
  const actor* const holder = reinterpret_cast<const actor*>(where & ~message::under_way);
  bool may = !m.on_its_way();
  if (may && running_.load(std::memory_order_acquire)) {  // acquire: as in send()
    const runner* const here = runner_here();
    may = here != nullptr && (holder == nullptr || here->runs_handler_of(*holder));
  }
  const auto next = reinterpret_cast<std::uintptr_t>(&a);
  // relaxed: who may is one thread, or a program's setting, which hands nothing over by it
  if (!may || !m.where_.compare_exchange_strong(where, next, std::memory_order_relaxed)) {
    refuse_foreign("give", m, &a);
  }
}

void stage::queue_outside(actor& a) noexcept {
  {
    const std::scoped_lock held(lock_);
    a.next_ = nullptr;
    (outside_first_ == nullptr ? outside_first_ : outside_last_->next_) = &a;
    outside_last_ = &a;
    outside_any_.store(true, std::memory_order_seq_cst);
  }
  if (sleepers_.load(std::memory_order_seq_cst) != 0) wake_one();
}

/// The oldest; nullptr if there is none.
actor* stage::take_outside() noexcept {
  if (!outside_any_.load(std::memory_order_relaxed)) return nullptr;  // relaxed: a look; sleep() looks surely
  const std::scoped_lock held(lock_);
  actor* const first = outside_first_;
  if (first == nullptr) return nullptr;
  outside_first_ = first->next_;
  outside_any_.store(outside_first_ != nullptr, std::memory_order_relaxed);  // relaxed: under the lock
  return first;
}

bool stage::anything() const noexcept {
  return outside_any_.load(std::memory_order_seq_cst) ||
         std::any_of(seats_.begin(), seats_.end(), [](const auto& s) { return !s->ready_.looks_empty(); });
}

void stage::fail(std::exception_ptr what) noexcept {
  const std::scoped_lock held(lock_);
  if (!failure_) failure_ = std::move(what);
  failed_.store(true, std::memory_order_relaxed);  // relaxed: sooner or later
}

/// A seat begins. \return false: the run is over already.
bool stage::come() noexcept {
  const std::scoped_lock held(lock_);
  if (over_) return false;
  ++came_;
  return true;
}

stage::after_sleep stage::sleep(runner& who) noexcept {
  {
    const std::scoped_lock held(lock_);
    if (over_) return after_sleep::over;
    const int asleep = sleepers_.load(std::memory_order_relaxed) + 1;  // relaxed: changed under the lock
    sleepers_.store(asleep, std::memory_order_seq_cst);                // before the looks: see DESIGN.md
    if (anything()) {
      sleepers_.store(asleep - 1, std::memory_order_relaxed);  // relaxed: who still sees it finds nobody to wake
      return after_sleep::look_again;
    }
    if (asleep == came_) {  // G3
      end();
      return after_sleep::over;
    }
    asleep_.push_back(&who);                             // has room
    who.asleep_.store(true, std::memory_order_relaxed);  // relaxed: under the lock
  }
  for (int i = 0; i < runner::looks_before_park && who.asleep_.load(std::memory_order_relaxed); ++i) who.rest();
  while (who.asleep_.load(std::memory_order_acquire)) sched::this_fiber::park("a message");
  const std::scoped_lock held(lock_);
  return over_ ? after_sleep::over : after_sleep::look_again;
}

/// Under the lock: nobody is to run anything any more.
void stage::end() noexcept {
  over_ = true;
  while (!asleep_.empty()) wake(take_sleeper());
  sleepers_.store(0, std::memory_order_relaxed);  // relaxed: nobody sends any more
}

/// Under the lock. \return one who slept, and is now the caller's to wake().
runner& stage::take_sleeper() noexcept {
  runner* const who = asleep_.back();
  asleep_.pop_back();
  // relaxed: a push that misses it took the lock in vain
  sleepers_.store(sleepers_.load(std::memory_order_relaxed) - 1, std::memory_order_relaxed);
  return *who;
}

void stage::wake(runner& who) noexcept {
  const auto fiber = who.fiber_;                        // before the store: the fiber may end
  who.asleep_.store(false, std::memory_order_release);  // pairs with the load in sleep()
  fiber.wake();
}

void stage::wake_one() noexcept {
  runner* who = nullptr;
  {
    const std::scoped_lock held(lock_);
    if (asleep_.empty()) return;
    who = &take_sleeper();
  }
  wake(*who);
}

void stage::must_end(actor& a, const char* what) {
  const std::scoped_lock held(lock_);
  a.awaits_ = what;
  if (std::exchange(a.listed_, true)) return;
  a.next_awaiting_ = std::exchange(awaiting_, &a);
}

/// Forgets whom must_end() named. \return the error's text; empty if all have ended.
std::string stage::who_has_not_ended() {
  constexpr int most = 8;
  std::string text;
  int count = 0;
  int all = 0;
  for (actor* a = std::exchange(awaiting_, nullptr); a != nullptr; a = a->next_awaiting_, ++all) {
    a->listed_ = false;
    const char* const what = std::exchange(a->awaits_, nullptr);
    if (what == nullptr || ++count > most) continue;
    text += (count == 1 ? "" : ", ") + named(a) + " waits for " + what;
  }
  if (count == 0) return {};
  if (count > most) text += ", and " + std::to_string(count - most) + " more";
  return "run: no message is on its way, but " + std::to_string(count) + " of " + std::to_string(all) +
         " actors that must end have not: " + text;
}

result stage::run(int workers) {
  if (workers < 0) throw usage_error("run: " + std::to_string(workers) + " workers; 0 takes all");
  if (sched::this_fiber::inside()) {
    run_in_fiber(sched::this_worker::current(), workers);
  } else {
    sched::options o;
    o.workers = workers;
    sched::runtime own(o);
    own.run([&] { run_in_fiber(own, workers); });
  }
  result sum;
  for (const auto& s : seats_) {
    sum.messages += s->done().messages;
    sum.turns += s->done().turns;
    sum.thefts += s->done().thefts;
  }
  return sum;
}

void stage::run_in_fiber(sched::runtime& on, int workers) {
  sched::this_fiber::require_wait("run");
  const sched::this_fiber::stay here;
  set_up(on);
  const int mine = sched::this_worker::index();
  const auto most = workers == 0 ? on.workers() : std::min(workers, on.workers());
  std::atomic<int> others{0};
  const auto me = sched::this_fiber::self();
  std::exception_ptr failure;
  {
    const std::scoped_lock held(lock_);  // nobody begins before all have been made, or one could not be
    try {
      for (int i = 0, seats = 1; i < on.workers() && seats < most; ++i) {
        if (i == mine) continue;
        ++seats;
        others.fetch_add(1, std::memory_order_relaxed);  // relaxed: the spawn hands it over
        on.spawn(
            [this, i, &others, me] {
              // Without a stack this seat stays empty: the others run its actors.
              if (sched::this_fiber::may_wait()) seats_[static_cast<std::size_t>(i)]->work();
              const auto who = me;  // this closure, and the caller's frame, may be gone after the subtraction
              if (others.fetch_sub(1, std::memory_order_acq_rel) == 1) who.wake();  // acq_rel: what handlers wrote
            },
            {.worker = i, .name = "actors", .even_without_stack = true});
      }
    } catch (...) {
      others.fetch_sub(1, std::memory_order_relaxed);  // relaxed: the one that was not made
      failure = std::current_exception();
      over_ = true;
    }
  }
  seats_[static_cast<std::size_t>(mine)]->work();
  while (others.load(std::memory_order_acquire) != 0) sched::this_fiber::park("actors on other workers");
  const auto waiting = tear_down(failure);
  if (failure) std::rethrow_exception(failure);
  if (!waiting.empty()) throw stalled(waiting);
}

void stage::set_up(sched::runtime& on) {
  const auto workers = static_cast<std::size_t>(on.workers());
  std::vector<std::unique_ptr<runner>> seats;
  for (std::size_t i = 0; i < workers; ++i) seats.push_back(std::make_unique<runner>(*this, sleepers_, i, workers));
  const std::scoped_lock held(lock_);
  if (running_.load(std::memory_order_relaxed)) throw usage_error("run: called while the engine runs");
  asleep_.reserve(workers);
  seats_ = std::move(seats);
  runtime_ = &on;
  came_ = 0;
  over_ = false;
  failed_.store(false, std::memory_order_relaxed);  // relaxed: fibers are spawned afterwards
  running_.store(true, std::memory_order_release);  // pairs with send()
}

/// \param failure  becomes what left a handler, if something did. \return who_has_not_ended().
std::string stage::tear_down(std::exception_ptr& failure) {
  const std::scoped_lock held(lock_);
  running_.store(false, std::memory_order_relaxed);  // relaxed: under the lock
  runtime_ = nullptr;
  if (failure_) failure = std::exchange(failure_, nullptr);
  return who_has_not_ended();
}

}  // namespace detail

void detail::send_slowly(stage& on, message& m, actor& to) { on.send_slowly(m, to); }

engine::engine() : stage_(std::make_unique<detail::stage>()) {}
engine::~engine() = default;

void give(engine& e, message& m, actor& a) { e.stage_->give(m, a); }
void must_end(engine& e, actor& a, const char* what) { e.stage_->must_end(a, what); }
result run(engine& e, int workers) { return e.stage_->run(workers); }

}  // namespace actors
}  // namespace v1
}  // namespace shunt
