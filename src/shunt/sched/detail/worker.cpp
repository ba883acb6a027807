#include <shunt/sched/detail/worker.hpp>

#include <algorithm>
#include <chrono>
#include <exception>
#include <new>
#include <string>

#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <shunt/base/clock.hpp>
#include <shunt/base/error.hpp>
#include <shunt/sched/detail/overflow.hpp>
#include <shunt/sched/detail/watchman.hpp>

namespace shunt {
inline namespace v1 {
namespace sched {
namespace detail {

constinit desk nobodys_desk;
[[gnu::used]] constinit thread_local desk* this_threads_desk = &nobodys_desk;

/// Good until the next switch, as here().
[[gnu::always_inline]] static inline worker* current_worker() noexcept {
  desk& d = here();
  return &d == &nobodys_desk ? nullptr : static_cast<worker*>(&d);
}

worker* worker::current() noexcept { return current_worker(); }

desk* here_by_call() noexcept { return this_threads_desk; }

worker::worker(crew& all, int index)
    : crew_(all),
      index_(index),
      post_(take_post()),
      directed_(all.settings.decides == nullptr ? nullptr : std::make_unique<director>(*all.settings.decides)),
      victim_(static_cast<std::uint64_t>(index)),
      jobs_(*this, ready) {
  post_->worker = index;
}

worker::~worker() { give_post(post_); }

void worker::add(poller& one) {
  if (one.descriptor() >= 0) {
    if (pollers_.descriptor() >= 0) {
      throw usage_error("attach: worker " + std::to_string(index_) +
                        " sleeps on another poller's descriptor; detach that one first");
    }
    post_->bed.need_bell();
  }
  pollers_.add(one);
  look_at_pollers();
}

void worker::add(std::unique_ptr<poller> one) {
  kept_.reserve(kept_.size() + 1);
  add(*one);
  kept_.push_back(std::move(one));
}

void worker::drop_unstarted() noexcept {
  for (fiber* f = post_->mail.drain(); f != nullptr;) {
    fiber* const next = f->link;
    drop_fiber(f);
    f = next;
  }
}

void worker::drop_fiber(fiber* f) noexcept {
  // relaxed: only who holds the block stores it. release: what the fiber was is over before edges to
  // it end (deadlock.hpp, E2).
  f->life.store(f->life.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  f->body = nullptr;
  f->name = nullptr;
  f->stack = {};
  f->belongs_to(nullptr);
  f->scope = nullptr;
  f->migrates = false;
  f->over = false;
  f->even_without_stack = false;
  blocks_.give(f);
}

// --- the running fiber's side ---

void throw_outside(const char* call, const char* what) { throw error(std::string(call) + ": called outside " + what); }

/// Goes on elsewhere; what the C++ runtime knows of this execution's exceptions stays with it.
[[gnu::always_inline]] inline void worker::swap(context::execution& from, context::execution& to) noexcept {
  if (!exceptions->any()) [[likely]] {
    context::switch_to(from, to);
    return;
  }
  const auto kept = std::exchange(*exceptions, context::exception_state{});
  context::switch_to(from, to);
  *here().exceptions = kept;  // of the thread that it is on now
}

/// The loop should run. If it would find nothing to do but to send back, some more switches are granted; but it looks
/// at the clock after so many. \return whether they are.
[[gnu::always_inline]] inline bool worker::go_on_without_loop(const fiber& me) noexcept {
  if (credit > 0 || outside != nullptr || !timers_.empty() || post_->mail.has_anything() || !tasks_.looks_empty() ||
      !newcomers_.empty() || !roamers_.empty() || me.migrates || directed_ != nullptr || ready.empty() ||
      !jobs_.ring_.looks_empty_here() || census_.wanted() || --until_loop_ <= 0) {
    return false;
  }
  credit = switches_a_duty + 1;
  beat_.store(own(beat_) + 2, std::memory_order_relaxed);  // relaxed: see run()
  return true;
}

/// Straight from one to the other.
[[gnu::always_inline]] inline void worker::go_on_with(fiber& me, fiber& next) noexcept {
  ready.set_running(&next);
  if (favoured == nullptr) ready.take_seat();
  swap(me.run, next.run);
}

/// What yield_quickly() left over.
void worker::yield_slowly() {
  const bool forbade = forbid != nullptr;
  require_permission("yield");  // the loop's poller may forbid it too
  fiber* const me = must_be_fiber("yield");
  const bool on = go_on_without_loop(*me);
  if ((forbade || on) && yield_quickly(*this)) return;  // nothing but that stood in its way
  ready.close();
  if (favoured == nullptr && !ready.empty() && --credit > 0) {
    ready.push(me);
    go_on_with(*me, *ready.pop());
    return;
  }
  if (!has_runnable()) {
    credit -= lone_yield_cost;
    if (credit > 0) return;
  }
  // Straight to the one that was woken, as leave() does.
  if (favoured != nullptr && --credit > 0 && ++favours_ <= favours_in_a_row) {
    ready.push(me);
    go_on_with(*me, *std::exchange(favoured, nullptr));
    return;
  }
  if (favoured == nullptr && ready.empty() && newcomers_.empty() && roamers_.empty()) tasks_first_ = tasks_a_turn;
  ready_soon(me);
  ready.set_running(nullptr);
  swap(me->run, loop_);
}

/// While a chooser decides: as a yield, but first in line.
void worker::interleave() noexcept {
  if (directed_ == nullptr || !in_fiber() || waiting_forbidden()) return;
  fiber* const me = running();
  directed_->stopped = me;
  ready.set_running(nullptr);
  swap(me->run, loop_);
}

void yield_slowly() {
  worker* const here = worker::current();
  if (here == nullptr) [[unlikely]]
    throw_outside("yield", "a runtime");
  here->yield_slowly();
}

/// Parked: straight to the next started fiber, or to the loop.
[[gnu::always_inline]] inline void worker::leave(fiber* me, const char* what, bool rests) noexcept {
  rests_ = rests;
  me->waits_for = what;
  me->since = now_ms_;
  ready.leave_seat();
  if (--credit > 0 || go_on_without_loop(*me)) {
    fiber* next = favoured;
    if (next != nullptr &&
        (++favours_ <= favours_in_a_row || (ready.empty() && newcomers_.empty() && roamers_.empty()))) {
      favoured = nullptr;
    } else if (next == nullptr && !ready.empty()) {
      next = ready.pop_after_park();
      favours_ = 0;
    } else {
      next = nullptr;
    }
    if (next != nullptr) {
      go_on_with(*me, *next);
      return;
    }
  }
  ready.set_running(nullptr);
  swap(me->run, loop_);
}

[[gnu::always_inline]] inline void worker::park(const char* what, bool rests) {
  require_permission("park");
  fiber* const me = must_be_fiber("park");
  if (directed_ != nullptr) [[unlikely]]
    interleave();
  if (me->state.commit_park() == after_park::run_again) return;
  leave(me, what, rests);
}

bool worker::park_until(timers::time deadline, const char* what, const char* call, bool rests) {
  require_permission(call);
  fiber* const me = must_be_fiber(call);
  if (deadline == timers::time::max()) {
    park(what, rests);
    return true;
  }
  if (directed_ != nullptr) [[unlikely]]
    interleave();
  timers_.reserve();
  if (me->state.commit_park() == after_park::run_again) return true;
  timers_.add(*me, deadline);
  me->timed_out = false;
  leave(me, what, rests);
  if (me->timer != fiber::no_timer) timers_.remove(*me);
  return !me->timed_out;
}

void worker::look_at_clock() noexcept {
  until_clock_ = looks_a_clock;
  if (directed_ != nullptr) [[unlikely]] {
    now_ms_ = static_cast<std::uint32_t>(directed_->now.time_since_epoch() / std::chrono::milliseconds(1));
    return;
  }
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  now_ms_ = static_cast<std::uint32_t>(now.tv_sec) * 1000U + static_cast<std::uint32_t>(now.tv_nsec / 1'000'000);
}

bool worker::has_runnable() const noexcept {
  return favoured != nullptr || !ready.empty() || !newcomers_.empty() || !roamers_.empty() || !tasks_.looks_empty() ||
         post_->mail.has_nodes() || (directed_ != nullptr && !directed_->ready.empty());
}

void worker::fiber_main(void* self) noexcept {
  auto* const me = static_cast<fiber*>(self);
  try {
    me->body();
    me->body = nullptr;  // here, where what the captures' destructors do is still a fiber's doing
  } catch (...) {
    current()->crew_.fail(std::current_exception());
  }
  if (me->locals != nullptr) end_locals(*me);
  worker* const w = current();
  w->set_forbid(nullptr);
  w->ended_here_ = true;
  context::finish_to(me->run, w->loop_);
}

// --- the loop's side ---

namespace {
long number_of_this_thread() noexcept {
#if defined(SYS_gettid)
  return syscall(SYS_gettid);
#else
  return 0;  // nobody can be sent a signal then
#endif
}
}  // namespace

void worker::ready_here(fiber* f) noexcept {
  if (f->migrates) {
    roamers_.push(f);
  } else if (in_fiber()) {
    ready.leave_seat();  // a yield looks for who is favoured only where it has no seat
    if (favoured != nullptr) ready.push(favoured);
    favoured = f;
  } else {
    if (ready.size() < 2) f->prefetch_frames();  // pop_after_park() asks for those of the others
    ready.push(f);                               // woken by the poller: in the order of arrival
  }
}

void worker::push_task(fiber* f) {
  tasks_.push(f);
  crew_.offer_task();
}

void worker::work() noexcept {
  const signal_stack for_faults;
  look_at_clock();
  thread_.store(number_of_this_thread(), std::memory_order_relaxed);  // relaxed: a number
  this_threads_desk = this;
  set_exceptions(&context::exceptions_of_this_thread());
  const auto of_caller = std::exchange(*exceptions, context::exception_state{});
  context::adopt_thread(loop_);
  wakes_up();
  directed_ == nullptr ? loop() : loop_directed();
  sleeps_.store(true, std::memory_order_relaxed);  // relaxed: the watch then looks at a worker that has nothing to show
  thread_.store(0, std::memory_order_relaxed);     // relaxed: as above
  *exceptions = of_caller;
  set_exceptions(&no_exceptions);
  this_threads_desk = &nobodys_desk;
}

void worker::loop() noexcept {
  for (;;) {
    if (until_duty_ <= 0) duty();
    if (tasks_first_ > 0) {
      --tasks_first_;
      if (fiber* const task = tasks_.take()) {
        run(task);
        continue;
      }
      tasks_first_ = 0;
    }
    if (fiber* const f = pick()) {
      run(f);
    } else if (fiber* const task = tasks_.take()) {
      run(task);
    } else if (!look_around() && !spin()) {
      if (crew_.stopping()) return;
      if (crew_.all_ended()) {
        crew_.stop();
        return;
      }
      sleep();
    }
  }
}

/// After a stretch of switches that the loop had no part in.
void worker::look_whether_asking_pays() noexcept {
  if (!context::places_suffice || ready.size() < look_ahead::few) {
    asks_ahead = false;
    ahead_.forget_begin();
  } else {
    const int duties = 1 + duties_a_loop - std::max(until_loop_, 1);
    asks_ahead = ahead_.after(duties * switches_a_duty, std::chrono::steady_clock::now());
  }
}

void worker::duty() noexcept {
  look_whether_asking_pays();
  until_duty_ = switches_a_duty;
  until_loop_ = duties_a_loop;
  look_at_clock();
  if (census_.wanted()) [[unlikely]]
    answer_census();
  const bool alone = favoured == nullptr && newcomers_.empty() && ready.size() + roamers_.size() <= 1;
  bool moved = drain();
  if (outside != nullptr) moved |= outside->poll();
  moved |= expire();
  if (fiber* const oldest = tasks_.steal()) {
    newcomers_.push(oldest);
    tasks_first_ = tasks_a_turn;
    moved = true;
  }
  moved |= help_soon();
  // The only fiber yields in a loop: it waits for somebody, who may need this CPU.
  if (alone && !moved && crew_.oversubscribed) sched_yield();
}

fiber* worker::pick() noexcept {
  if (!roamers_.empty()) hand_over();
  if (favoured != nullptr) {
    if (++favours_ <= favours_in_a_row || (ready.empty() && newcomers_.empty() && roamers_.empty())) {
      return std::exchange(favoured, nullptr);
    }
    ready.push(std::exchange(favoured, nullptr));
  }
  favours_ = 0;
  if (!newcomers_.empty() && ((ready.empty() && roamers_.empty()) || newcomers_first_ > 0)) {
    --newcomers_first_;
    return newcomers_.pop();
  }
  newcomers_first_ = newcomers_in_a_row;
  roamers_turn_ = !roamers_turn_;
  if (!roamers_.empty() && (roamers_turn_ || ready.empty())) return roamers_.pop();
  return ready.empty() ? nullptr : ready.pop();
}

/// If somebody sleeps, half of the fibers that may go on elsewhere, and are ready here, do so there; not the only
/// one that is ready. In the loop, hence none of them is between its decision to stop and its last register saved.
void worker::hand_over() noexcept {
  const bool others = favoured != nullptr || !ready.empty() || !newcomers_.empty();
  const auto most = std::min((roamers_.size() + (others ? 1 : 0)) / 2, most_handed_over);
  if (most == 0 || crew_.asleep.nobody()) return;
  post* to = nullptr;
  auto looks = std::min(roamers_.size(), 2 * most_handed_over);
  for (std::size_t handed = 0; looks > 0 && handed < most; --looks) {
    fiber* const f = roamers_.pop();
    // With a deadline it stands in this worker's heap.
    if (f->pins != 0 || f->timer != fiber::no_timer) {
      roamers_.push(f);
      continue;
    }
    if (to == nullptr) {
      const int claimed = crew_.asleep.claim();
      if (claimed < 0) return roamers_.push_front(f);
      to = &crew_.workers[static_cast<std::size_t>(claimed)]->address();
    }
    f->belongs_to(nullptr);  // nobody's on the way (F4)
    to->send(f);
    ++handed;
  }
}

void worker::run(fiber* f) noexcept {
  --until_duty_;
  if (!f->started && !start(f)) return;
  // Each switch comes by here as long as there are newcomers, or fibers that others may want, or somebody decides.
  const bool nobody_asks = newcomers_.empty() && roamers_.empty() && !f->migrates && directed_ == nullptr;
  const int granted = nobody_asks ? until_duty_ + 1 : 1;
  credit = granted;
  ready.set_running(f);
  if (nobody_asks && favoured == nullptr) ready.take_seat();
  job_deque::set_here(asymmetric_ && !f->migrates ? &jobs_ : nullptr);
  const auto beat = own(beat_);
  beat_.store(beat + 1, std::memory_order_relaxed);  // relaxed: a look is all that others take
  context::switch_to(loop_, f->run);                 // the loop has no exception in flight
  beat_.store(beat + 2, std::memory_order_relaxed);  // relaxed: likewise
  ready.leave_seat();
  job_deque::set_here(nullptr);
  until_duty_ -= granted - std::exchange(credit, 0);
  if (ended_here_) {
    ended_here_ = false;
    fiber* const over = running();
    ready.set_running(nullptr);
    finish(over);
  }
}

bool worker::start(fiber* f) noexcept {
  f->belongs_to(post_);
  std::exception_ptr why_not;
  try {
    const auto bytes = f->stack.bytes != 0 ? f->stack.bytes : crew_.settings.stack_bytes;
    ready.reserve(started_here_ + 1);
    f->stack = stacks_.take(bytes);
    f->birthplace = index_;
  } catch (const std::bad_alloc&) {
    why_not = crew_.out_of_memory();
  } catch (...) {
    why_not = std::current_exception();
  }
  if (why_not) [[unlikely]] {
    run_without_stack(f, why_not);
    return false;
  }
  colour_ = (colour_ + 1) % colours;
  context::prepare(f->run, f->stack.low, f->stack.bytes - colour_ * cache_line, &fiber_main, f);
  f->started = true;
  ++started_here_;
  return true;
}

namespace {

/// Of a fiber that runs on its worker's loop's stack: from there nothing can switch.
class no_stack final : public no_wait {
 public:
  explicit no_stack(const std::exception_ptr& why) noexcept : why_(why) {}
  [[noreturn]] void refuse(const char*) const override { std::rethrow_exception(why_); }

 private:
  const std::exception_ptr& why_;
};

}  // namespace

/// For a fiber that gets no stack: its life from beginning to end. Its body, if it asked for that, runs here, on the
/// loop's stack, and all that waits throws `why`: so it can tell those that wait for it. Else it is dropped.
void worker::run_without_stack(fiber* f, const std::exception_ptr& why) noexcept {
  ++refusals_here_;
  crew_.refused(why);
  if (!f->even_without_stack) crew_.fail(why);
  const no_stack refusal(why);
  const no_wait* const before = forbid;  // a poller's
  without_stack_ = &refusal;
  ready.set_running(f);
  set_forbid(&refusal);
  f->stack = {};
  try {
    if (f->even_without_stack) f->body();
    f->body = nullptr;  // here, where what the captures' destructors do is still a fiber's doing
  } catch (...) {
    crew_.fail(std::current_exception());
  }
  if (f->locals != nullptr) end_locals(*f);
  set_forbid(before);
  ready.set_running(nullptr);
  without_stack_ = nullptr;
  drop_fiber(f);
  ended_.store(own(ended_) + 1, std::memory_order_release);  // edge `tally`
}

void worker::finish(fiber* f) noexcept {
  rests_ = false;
  if (f->migrates && f->birthplace != index_) {
    f->over = true;
    f->belongs_to(nullptr);
    return crew_.workers[static_cast<std::size_t>(f->birthplace)]->address().send(f);
  }
  f->started = false;
  std::atomic_signal_fence(std::memory_order_seq_cst);  // F4: a census does not see it from here on
  context::retire(f->run);
  stacks_.give(f->stack);
  --started_here_;
  drop_fiber(f);
  ended_.store(own(ended_) + 1, std::memory_order_release);  // edge `tally`
}

/// Everything that may make something runnable, once. \return whether something moved.
/// The inbox before the poller: drain() swallows an unpark(), which promises a poll after it.
bool worker::look_around() noexcept {
  ahead_.forget_begin();
  until_duty_ = switches_a_duty;
  until_loop_ = duties_a_loop;
  if (--until_clock_ <= 0) look_at_clock();
  if (census_.wanted()) [[unlikely]]
    answer_census();
  bool moved = drain();
  if (outside != nullptr) moved |= outside->poll();
  moved |= expire();
  return moved || steal_one() || help();
}

/// Whose time is over goes on. \return whether somebody does.
bool worker::expire() noexcept {
  if (timers_.empty()) return false;
  bool moved = false;
  for (const auto now = sched::now(); !timers_.empty() && timers_.first() <= now;) {
    fiber* const f = timers_.first_fiber();
    timers_.remove(*f);
    if (f->state.expire() == after_wake::nothing) continue;  // woken already, and under way
    f->timed_out = true;
    ready_soon(f);
    moved = true;
  }
  return moved;
}

bool worker::drain() noexcept {
  if (!post_->mail.has_anything()) return false;
  fiber* f = post_->mail.drain();
  if (f == nullptr) return false;
  bool tasks = false;
  while (f != nullptr) {
    fiber* const next = f->link;
    if (f->over) {
      finish(f);
    } else if (f->started && f->migrates) {
      f->belongs_to(post_);
      roamers_.push(f);
    } else if (f->where() == nullptr) {
      try {
        tasks_.push(f);
        tasks = true;
      } catch (...) {  // no memory for the deque: then it runs here
        newcomers_.push(f);
      }
    } else if (f->started) {
      ready.push(f);
    } else {
      newcomers_.push(f);
    }
    f = next;
  }
  if (tasks) crew_.offer_task();
  return true;
}

bool worker::steal_one() noexcept {
  const auto count = crew_.workers.size();
  if (count == 1) return false;
  victim_ = victim_ * 6364136223846793005U + 1442695040888963407U;  // Knuth's MMIX
  const auto first = static_cast<std::size_t>(victim_ >> 33);
  for (std::size_t i = 0; i < count; ++i) {
    worker& victim = *crew_.workers[(first + i) % count];
    if (&victim == this || victim.no_task()) continue;
    if (fiber* const f = victim.steal()) {
      newcomers_.push(f);
      return true;
    }
  }
  return false;
}

/// \return whether something moved.
bool worker::spin() noexcept {
  if (rests_ || crew_.stopping()) return false;
  if (crew_.oversubscribed) {
    for (int i = 0; i < idle_yields; ++i) {
      sched_yield();
      if (look_around()) return true;
    }
    return false;
  }
  if (crew_.settings.spin <= std::chrono::nanoseconds::zero()) return false;
  constexpr int pauses_a_look = 16;
  const auto end = std::chrono::steady_clock::now() + crew_.settings.spin;
  do {
    for (int i = 0; i < pauses_a_look && !post_->mail.has_anything(); ++i) relax();
    if (look_around()) return true;
    if (crew_.stopping()) return false;
  } while (std::chrono::steady_clock::now() < end);
  return false;
}

void worker::wakes_up() noexcept {
  sleeps_.store(false, std::memory_order_seq_cst);
  tell_the_watch();
}

/// See DESIGN.md, "Nobody sleeps on work", for the order of these steps.
void worker::sleep() noexcept {
  const bool stacks_to_give = stacks_.trim();
  if (post_->mail.arm() == after_arm::stay) return;
  crew_.asleep.enter(index_);
  bool work = crew_.stopping();
  for (const auto& other : crew_.workers) work = work || !other->no_task();
  work = work || ask_for_jobs();
  if (!work && (outside == nullptr || outside->arm())) {
    auto patience = outside == nullptr ? std::chrono::nanoseconds::max() : outside->patience();
    if (!timers_.empty()) {
      const auto until_first = timers_.first() - std::chrono::steady_clock::now();
      patience = std::clamp<std::chrono::nanoseconds>(until_first, std::chrono::nanoseconds(0), patience);
    }
    const int also = outside == nullptr ? -1 : outside->descriptor();
    if (stacks_to_give) patience = std::min(patience, between_trims);
    sleeps_.store(true, std::memory_order_relaxed);  // relaxed: likewise, see work()
    if (rests_for_ever()) {
      crew_.rest(*this, patience);
    } else if (also < 0) {
      post_->bed.park(patience);
    } else {
      post_->bed.park_on(also, patience);
    }
    wakes_up();
    if (outside != nullptr) outside->disarm();
    look_at_clock();
  }
  crew_.asleep.leave(index_);
  // Not asleep any more, if nobody has said so yet; what came is taken in the same exchange.
  drain();
}

}  // namespace detail

// Here, for the compiler to see through: what programs call most.

void waker::wake() const noexcept {
  if (fiber_ == nullptr) return;
  if (fiber_->state.wake() == detail::after_wake::nothing) return;
  detail::worker* const here = detail::current_worker();
  detail::post* const home = fiber_->where();
  if (here != nullptr && &here->address() == home) {
    here->ready_here(fiber_);
  } else {
    if (here == nullptr) home->fed.store(true, std::memory_order_relaxed);  // relaxed: a hint for crew::rest()
    home->send(fiber_);
  }
}

namespace this_fiber {

void park(const char* what) {
  detail::worker* const here = detail::current_worker();
  if (here == nullptr) [[unlikely]]
    detail::throw_outside("park", "a runtime");
  here->park(what);
}

namespace {

/// \param call  what the program called
bool park_until_for(const char* call, std::chrono::steady_clock::time_point deadline, const char* what, bool rests) {
  detail::worker* const here = detail::worker::current();
  if (here == nullptr) [[unlikely]]
    detail::throw_outside(call, "a runtime");
  return here->park_until(deadline, what, call, rests);
}

void sleep_for_call(const char* call, std::chrono::steady_clock::time_point deadline) {
  do {
    static_cast<void>(park_until_for(call, deadline, "a time", false));
  } while (now() < deadline);
}

}  // namespace

bool park_until(std::chrono::steady_clock::time_point deadline, const char* what) {
  return park_until_for("park_until", deadline, what, false);
}

bool rest_until(std::chrono::steady_clock::time_point deadline, const char* what) {
  return park_until_for("rest_until", deadline, what, true);
}

void sleep_until(std::chrono::steady_clock::time_point deadline) { sleep_for_call("sleep_until", deadline); }

void sleep_for(std::chrono::nanoseconds time) { sleep_for_call("sleep_for", after(time)); }

}  // namespace this_fiber
}  // namespace sched
}  // namespace v1
}  // namespace shunt
