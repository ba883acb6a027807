#include <shunt/templet/detail/scheduler.hpp>
#include <shunt/templet/detail/virtual_time.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <utility>

namespace shunt {
inline namespace v1 {
namespace templet {
namespace detail {

std::string name_of(const actor& a) {
  if (!a.name.empty()) return '`' + a.name + '`';
  char text[32];
  std::snprintf(text, sizeof text, "actor %p", static_cast<const void*>(&a));
  return text;
}

// --- sending, the slow way ---

void scheduler::refuse(const char* call, const actor* to, const std::string& why) const {
  std::string text = call;
  if (to != nullptr) text += " to " + name_of(*to);
  throw usage_error(error_number(601), text + ": " + why);
}

/// Throws, as another actor has the message, or it is on its way: tells which.
void scheduler::refuse_foreign(const char* call, const message& m, const actor* to) const {
  const auto where = m.where_.load(std::memory_order_relaxed);  // relaxed: for the text
  const auto* const holder = reinterpret_cast<const actor*>(where & ~message::under_way);
  if (where != message::unsent && (where & message::under_way) != 0) {
    refuse(call, to,
           "the message is on its way to " + name_of(*holder) + " already; send it again when it has arrived");
  }
  if (holder != nullptr) {
    refuse(call, to, "the message is " + name_of(*holder) + "'s: only its handler may send it. Ask access() before");
  }
  refuse(call, to, "called outside of a handler while the engine runs; send from a handler, or before run()");
}

/// The loop that runs the handler which calls this; nullptr if the caller is no handler.
loop* scheduler::loop_of_handler() const noexcept {
  const int index = sched::this_worker::index();
  if (index < 0 || &sched::this_worker::current() != runtime_ || static_cast<std::size_t>(index) >= loops_.size()) {
    return nullptr;
  }
  loop* const here = loops_[static_cast<std::size_t>(index)].get();
  return here->runs_a_handler() ? here : nullptr;
}

/// The cases that the inlined send() leaves: a message that was never sent, a slot that is not the thread's quick
/// activation, a controlled scheduler, a caller that is no handler, or a mistake. Finds the slot by the worker,
/// decides whether the caller may send, and then sends as send() does.
void scheduler::send_slowly(message& m, actor& to) {
  sched::this_fiber::interleave();
  auto where = m.where_.load(std::memory_order_relaxed);  // relaxed: a guess; the exchange below decides
  const auto next = reinterpret_cast<std::uintptr_t>(&to) | message::under_way;
  const bool running = running_.load(std::memory_order_acquire);  // acquire: edge `set up` in, for loops_
  loop* const here = running ? loop_of_handler() : nullptr;
  const bool may = running ? here != nullptr && (where == message::unsent || where == here->running) : !m.on_its_way();
  // relaxed: decides which of several callers sends it, and nothing else
  if (!may || !m.where_.compare_exchange_strong(where, next, std::memory_order_relaxed)) refuse_foreign("send", m, &to);
  if (here != nullptr) {
    if (virtual_ != nullptr) {
      virtual_->sent(m);
    } else {
      here->set_quick_activation();
    }
  }
  if (to.inbox_.push(m) == after_push::nothing) return;
  if (here != nullptr) {
    here->queue(to);
  } else {
    inject(to);
  }
}

void scheduler::give(message& m, actor& a) {
  auto where = m.where_.load(std::memory_order_relaxed);  // relaxed: a guess; the exchange below decides
  const actor* const holder = reinterpret_cast<const actor*>(where & ~message::under_way);
  bool may = !m.on_its_way();
  if (may && running_.load(std::memory_order_acquire)) {  // acquire: edge `set up` in, for loops_
    const loop* const here = loop_of_handler();
    may = here != nullptr && (holder == nullptr || here->runs_handler_of(*holder));
  }
  const auto next = reinterpret_cast<std::uintptr_t>(&a);
  // relaxed: one thread may call this, or a program's setting, which hands nothing over by it
  if (!may || !m.where_.compare_exchange_strong(where, next, std::memory_order_relaxed)) {
    refuse_foreign("give", m, &a);
  }
}

void scheduler::inject(actor& a) noexcept {
  {
    const std::scoped_lock held(lock_);
    a.next_ = nullptr;
    (injected_first_ == nullptr ? injected_first_ : injected_last_->next_) = &a;
    injected_last_ = &a;
    any_injected_.store(true, std::memory_order_seq_cst);  // pair `sleeping`: before the look at sleepers_
  }
  // pair `sleeping`: after the store of any_injected_
  if (sleepers_.load(std::memory_order_seq_cst) != 0) wake_one();
}

/// The oldest injected actor; nullptr if there is none.
actor* scheduler::take_injected() noexcept {
  if (!any_injected_.load(std::memory_order_relaxed)) return nullptr;  // relaxed: a look; sleep() looks surely
  const std::scoped_lock held(lock_);
  actor* const first = injected_first_;
  if (first == nullptr) return nullptr;
  injected_first_ = first->next_;
  any_injected_.store(injected_first_ != nullptr, std::memory_order_relaxed);  // relaxed: under the lock
  return first;
}

/// Whether any actor is ready. For a loop that has just entered itself among the sleepers.
bool scheduler::any_ready() const noexcept {
  // pair `sleeping`: after the store of sleepers_
  return any_injected_.load(std::memory_order_seq_cst) ||
         std::any_of(loops_.begin(), loops_.end(), [](const auto& s) { return !s->ready_.looks_empty(); });
}

void scheduler::fail(std::exception_ptr what) noexcept {
  const std::scoped_lock held(lock_);
  if (!failure_) failure_ = std::move(what);
  failed_.store(true, std::memory_order_relaxed);  // relaxed: sooner or later
}

/// A loop begins. \return false: the run is over already.
bool scheduler::loop_begins() noexcept {
  const std::scoped_lock held(lock_);
  if (over_) return false;
  ++began_;
  return true;
}

/// Enters `me` among the sleepers, and then looks once more: a push that did not see the sleeper is seen here
/// (scheduler.G2). The last of the loops that falls asleep ends the run (scheduler.G3). Looks around for a while before
/// it parks.
scheduler::after_sleep scheduler::sleep(loop& me) noexcept {
  {
    const std::scoped_lock held(lock_);
    if (over_) return after_sleep::over;
    const int asleep = sleepers_.load(std::memory_order_relaxed) + 1;  // relaxed: changed under the lock
    sleepers_.store(asleep, std::memory_order_seq_cst);                // pair `sleeping`: before the looks
    if (any_ready()) {
      sleepers_.store(asleep - 1, std::memory_order_relaxed);  // relaxed: a thread that still sees it finds no sleeper
      return after_sleep::look_again;
    }
    if (asleep == began_) {  // scheduler.G3
      end();
      return after_sleep::over;
    }
    asleep_.push_back(&me);                             // reserved: does not throw
    me.asleep_.store(true, std::memory_order_relaxed);  // relaxed: under the lock
  }
  // relaxed: a look; the loop below decides
  for (int i = 0; i < loop::looks_before_park && me.asleep_.load(std::memory_order_relaxed); ++i) me.pause();
  // acquire: edge `woken` in
  while (me.asleep_.load(std::memory_order_acquire)) sched::this_fiber::park("a message");
  const std::scoped_lock held(lock_);
  return over_ ? after_sleep::over : after_sleep::look_again;
}

/// Under the lock: the run is over, and all loops learn it.
void scheduler::end() noexcept {
  over_ = true;
  while (!asleep_.empty()) wake(take_sleeper());
  sleepers_.store(0, std::memory_order_relaxed);  // relaxed: no handler sends any more
}

/// Under the lock. \return a loop that slept; the caller must wake() it.
loop& scheduler::take_sleeper() noexcept {
  loop* const sleeper = asleep_.back();
  asleep_.pop_back();
  // relaxed: a push that misses it took the lock in vain
  sleepers_.store(sleepers_.load(std::memory_order_relaxed) - 1, std::memory_order_relaxed);
  return *sleeper;
}

void scheduler::wake(loop& sleeper) noexcept {
  const auto fiber = sleeper.fiber_;                        // before the store: the fiber may end
  sleeper.asleep_.store(false, std::memory_order_release);  // release: edge `woken` out
  fiber.wake();
}

void scheduler::wake_one() noexcept {
  loop* sleeper = nullptr;
  {
    const std::scoped_lock held(lock_);
    if (asleep_.empty()) return;
    sleeper = &take_sleeper();
  }
  wake(*sleeper);
}

void scheduler::must_end(actor& a, const char* what) {
  const std::scoped_lock held(lock_);
  a.awaits_ = what;
  if (std::exchange(a.listed_, true)) return;
  a.next_awaiting_ = std::exchange(awaiting_, &a);
}

/// Forgets the actors that must_end() named. \return the error's text; empty if all have ended.
std::string scheduler::names_of_unended() {
  constexpr int most = 8;
  std::string text;
  int count = 0;
  int all = 0;
  for (actor* a = std::exchange(awaiting_, nullptr); a != nullptr; a = a->next_awaiting_, ++all) {
    a->listed_ = false;
    const char* const what = std::exchange(a->awaits_, nullptr);
    if (what == nullptr || ++count > most) continue;
    text += (count == 1 ? "" : ", ") + name_of(*a) + " waits for " + what;
  }
  if (count == 0) return {};
  if (count > most) text += ", and " + std::to_string(count - most) + " more";
  return "run: no message is on its way, but " + std::to_string(count) + " of " + std::to_string(all) +
         " actors that must end have not: " + text;
}

result scheduler::run(int workers) {
  if (workers < 0) throw usage_error(error_number(602), "run: " + std::to_string(workers) + " workers; 0 takes all");
  if (sched::this_fiber::inside()) {
    run_in_fiber(sched::this_worker::current(), workers);
  } else {
    sched::options o;
    o.workers = workers;
    sched::runtime own(o);
    own.run([&] { run_in_fiber(own, workers); }, std::source_location());  // no line of the program
  }
  result sum;
  for (const auto& s : loops_) {
    sum.messages += s->done().messages;
    sum.activations += s->done().activations;
    sum.thefts += s->done().thefts;
  }
  return sum;
}

simulated scheduler::run(const simulate& on) {
  if (on.cores < 1)
    throw usage_error(error_number(606), "run: simulate{" + std::to_string(on.cores) + "}: at least 1 core");
  virtual_time clock(on);
  virtual_ = &clock;
  const result done = [&] {
    try {
      return run(1);
    } catch (...) {
      virtual_ = nullptr;
      throw;
    }
  }();
  virtual_ = nullptr;
  simulated found = clock.found();
  found.done = done;
  return found;
}

/// Runs the caller's loop here and starts the others; waits for them, and then tells what went wrong.
void scheduler::run_in_fiber(sched::runtime& on, int workers) {
  sched::this_fiber::require_wait("run");
  const sched::this_fiber::stay here;
  set_up(on);
  std::atomic<int> others{0};
  std::exception_ptr failure;
  start_loops(on, workers, others, failure);
  loops_[static_cast<std::size_t>(sched::this_worker::index())]->run();
  // acquire: edge `handled` in
  while (others.load(std::memory_order_acquire) != 0) sched::this_fiber::park("actors on other workers");
  const auto waiting = tear_down(failure);
  if (failure) std::rethrow_exception(failure);
  if (!waiting.empty()) throw stalled(error_number(603), waiting);
}

/// Spawns a loop on each other worker, up to `workers` in all. Holds the lock meanwhile: no loop begins before all have
/// been made. If one cannot be made, the run is over.
/// \param others  counts the spawned loops down; the last one wakes the caller's fiber.
void scheduler::start_loops(sched::runtime& on, int workers, std::atomic<int>& others, std::exception_ptr& failure) {
  const int mine = sched::this_worker::index();
  const auto most = workers == 0 ? on.workers() : std::min(workers, on.workers());
  const auto caller = sched::this_fiber::self();
  const std::scoped_lock held(lock_);
  try {
    for (int i = 0, loops = 1; i < on.workers() && loops < most; ++i) {
      if (i == mine) continue;
      ++loops;
      others.fetch_add(1, std::memory_order_relaxed);  // relaxed: the spawn hands it over
      on.spawn(
          [this, i, &others, caller] {
            // Without a stack this slot stays empty: the other loops run its actors.
            if (sched::this_fiber::may_wait()) loops_[static_cast<std::size_t>(i)]->run();
            const auto fiber = caller;  // this closure, and the caller's frame, may be gone after the subtraction
            // acq_rel: edge `handled` out: what handlers wrote
            if (others.fetch_sub(1, std::memory_order_acq_rel) == 1) fiber.wake();
          },
          {.worker = i, .name = "actors", .even_without_stack = true});
    }
  } catch (...) {
    others.fetch_sub(1, std::memory_order_relaxed);  // relaxed: the one that was not made
    failure = std::current_exception();
    over_ = true;
  }
}

void scheduler::set_up(sched::runtime& on) {
  const auto workers = static_cast<std::size_t>(on.workers());
  std::vector<std::unique_ptr<loop>> loops;
  for (std::size_t i = 0; i < workers; ++i) loops.push_back(std::make_unique<loop>(*this, sleepers_, i, workers));
  const std::scoped_lock held(lock_);
  // relaxed: written under the lock
  if (running_.load(std::memory_order_relaxed))
    throw usage_error(error_number(604), "run: called while the engine runs");
  asleep_.reserve(workers);
  loops_ = std::move(loops);
  runtime_ = &on;
  began_ = 0;
  over_ = false;
  failed_.store(false, std::memory_order_relaxed);  // relaxed: fibers are spawned afterwards
  running_.store(true, std::memory_order_release);  // release: edge `set up` out
}

/// \param failure  becomes what left a handler, if something did. \return names_of_unended().
std::string scheduler::tear_down(std::exception_ptr& failure) {
  const std::scoped_lock held(lock_);
  running_.store(false, std::memory_order_relaxed);  // relaxed: under the lock
  runtime_ = nullptr;
  if (failure_) failure = std::exchange(failure_, nullptr);
  return names_of_unended();
}

}  // namespace detail
}  // namespace templet
}  // namespace v1
}  // namespace shunt
