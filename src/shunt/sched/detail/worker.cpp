#include <shunt/sched/detail/worker.hpp>

#include <chrono>
#include <exception>
#include <string>

#include <sched.h>

#include <shunt/base/clock.hpp>
#include <shunt/base/error.hpp>

namespace shunt {
inline namespace v1 {
namespace sched {
namespace detail {
namespace {

// initial-exec: one load also in a shared library, where the default is a call. The library then
// needs eight bytes of the static block that the loader keeps for such use.
[[gnu::tls_model("initial-exec")]] thread_local worker* this_threads_worker = nullptr;

}  // namespace

worker* worker::current() noexcept {
  asm volatile("");  // has an effect, for all the compiler knows: two calls are not merged
  return this_threads_worker;
}

worker::worker(crew& all, int index)
    : crew_(all), index_(index), post_(take_post()), victim_(static_cast<std::uint64_t>(index)) {}

worker::~worker() { give_post(post_); }

void worker::drop_unstarted() noexcept {
  for (fiber* f = post_->mail.drain(); f != nullptr;) {
    fiber* const next = f->link;
    drop_fiber(f);
    f = next;
  }
}

void worker::drop_fiber(fiber* f) noexcept {
  f->body = nullptr;
  f->name.clear();
  f->home = nullptr;
  f->scope = nullptr;
  blocks_.give(f);
}

// --- the running fiber's side ---

void throw_outside(const char* call, const char* what) {
  throw error(std::string(call) + ": called outside " + what);
}

/// Goes on elsewhere; what the C++ runtime knows of this execution's exceptions stays with it.
[[gnu::always_inline]] inline void worker::swap(context::execution& from,
                                                context::execution& to) noexcept {
  if (!exceptions_->any()) [[likely]] {
    context::switch_to(from, to);
    return;
  }
  const auto kept = std::exchange(*exceptions_, context::exception_state{});
  context::switch_to(from, to);
  *exceptions_ = kept;  // the same thread's: a started fiber stays (F3)
}

inline void worker::yield() {
  if (forbid_ != nullptr) [[unlikely]] forbid_->refuse("yield");  // the loop's poller may forbid it too
  fiber* const me = must_be_fiber("yield");
  if (favoured_ == nullptr && !ready_.empty() && ready_.front()->started && --until_duty_ > 0)
      [[likely]] {
    fiber* const next = ready_.pop();
    ready_.push(me);
    running_ = next;
    swap(me->run, next->run);
    return;
  }
  yield_slowly(me);
}

void worker::yield_slowly(fiber* me) noexcept {
  if (!has_runnable()) {
    until_duty_ -= lone_yield_cost;
    if (until_duty_ > 0) return;
  }
  if (favoured_ == nullptr && ready_.empty()) tasks_first_ = tasks_a_turn;
  ready_.push(me);
  running_ = nullptr;
  swap(me->run, loop_);
}

inline void worker::park() {
  if (forbid_ != nullptr) [[unlikely]] forbid_->refuse("park");
  fiber* const me = must_be_fiber("park");
  if (me->state.commit_park() == after_park::run_again) return;
  leave(me);
}

/// Parked: straight to the next started fiber, or to the loop.
void worker::leave(fiber* me) noexcept {
  if (--until_duty_ > 0) {
    fiber* next = favoured_;
    if (next != nullptr && next->started && ++favours_ <= favours_in_a_row) {
      favoured_ = nullptr;
    } else if (next == nullptr && !ready_.empty() && ready_.front()->started) {
      next = ready_.pop();
      favours_ = 0;
    } else {
      next = nullptr;
    }
    if (next != nullptr) {
      running_ = next;
      swap(me->run, next->run);
      return;
    }
  }
  running_ = nullptr;
  swap(me->run, loop_);
}

bool worker::has_runnable() const noexcept {
  return favoured_ != nullptr || !ready_.empty() || !tasks_.looks_empty() ||
         post_->mail.has_nodes();
}

void worker::fiber_main(void* self) noexcept {
  auto* const me = static_cast<fiber*>(self);
  try {
    me->body();
    me->body = nullptr;  // here, where what the captures' destructors do is still a fiber's doing
  } catch (...) {
    current()->crew_.fail(std::current_exception());
  }
  worker* const w = current();
  w->forbid_ = nullptr;
  w->ended_here_ = true;
  context::finish_to(me->run, w->loop_);
}

// --- the loop's side ---

void worker::ready_here(fiber* f) noexcept {
  if (running_ != nullptr) {
    if (favoured_ != nullptr) ready_.push(favoured_);
    favoured_ = f;
  } else {
    ready_.push(f);  // woken by the poller: in the order of arrival
  }
}

void worker::push_task(fiber* f) {
  tasks_.push(f);
  crew_.offer_task();
}

void worker::work() noexcept {
  this_threads_worker = this;
  exceptions_ = &context::exceptions_of_this_thread();
  const auto of_caller = std::exchange(*exceptions_, context::exception_state{});
  context::adopt_thread(loop_);
  loop();
  *exceptions_ = of_caller;
  this_threads_worker = nullptr;
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

void worker::duty() noexcept {
  until_duty_ = switches_a_duty;
  const bool alone = favoured_ == nullptr && (ready_.empty() || ready_.front()->link == nullptr);
  bool moved = drain();
  if (poller_ != nullptr) moved |= poller_->poll();
  if (fiber* const oldest = tasks_.steal()) {
    ready_.push(oldest);
    tasks_first_ = tasks_a_turn;
    moved = true;
  }
  // The only fiber yields in a loop: it waits for somebody, who may need this CPU.
  if (alone && !moved && crew_.oversubscribed) sched_yield();
}

fiber* worker::pick() noexcept {
  if (favoured_ != nullptr) {
    if (++favours_ <= favours_in_a_row || ready_.empty()) return std::exchange(favoured_, nullptr);
    ready_.push(std::exchange(favoured_, nullptr));
  }
  favours_ = 0;
  return ready_.empty() ? nullptr : ready_.pop();
}

void worker::run(fiber* f) noexcept {
  --until_duty_;
  if (!f->started && !start(f)) return;
  running_ = f;
  context::switch_to(loop_, f->run);  // the loop has no exception in flight
  if (ended_here_) {
    ended_here_ = false;
    finish(std::exchange(running_, nullptr));
  }
}

bool worker::start(fiber* f) noexcept {
  f->home = post_;
  try {
    const auto bytes = f->stack_bytes != 0 ? f->stack_bytes : crew_.settings.stack_bytes;
    f->stack = stacks_.take(bytes);
  } catch (...) {
    crew_.fail(std::current_exception());
    drop_fiber(f);
    // release: edge `tally`
    ended_.store(own(ended_) + 1, std::memory_order_release);
    return false;
  }
  context::prepare(f->run, f->stack.low, f->stack.bytes, &fiber_main, f);
  f->started = true;
  return true;
}

void worker::finish(fiber* f) noexcept {
  context::retire(f->run);
  stacks_.give(f->stack);
  f->started = false;
  drop_fiber(f);
  ended_.store(own(ended_) + 1, std::memory_order_release);  // edge `tally`
}

/// Everything that may make something runnable, once. \return whether something moved.
/// The inbox before the poller: drain() swallows an unpark(), which promises a poll after it.
bool worker::look_around() noexcept {
  until_duty_ = switches_a_duty;
  bool moved = drain();
  if (poller_ != nullptr) moved |= poller_->poll();
  return moved || steal_one();
}

bool worker::drain() noexcept {
  if (!post_->mail.has_anything()) return false;
  fiber* f = post_->mail.drain();
  if (f == nullptr) return false;
  bool tasks = false;
  while (f != nullptr) {
    fiber* const next = f->link;
    if (f->home == nullptr) {
      try {
        tasks_.push(f);
        tasks = true;
      } catch (...) {  // no memory for the deque: then it runs here
        ready_.push(f);
      }
    } else {
      ready_.push(f);
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
      ready_.push(f);
      return true;
    }
  }
  return false;
}

/// \return whether something moved.
bool worker::spin() noexcept {
  if (crew_.stopping()) return false;
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

/// See DESIGN.md, "Nobody sleeps on work", for the order of these steps.
void worker::sleep() noexcept {
  if (post_->mail.arm() == after_arm::stay) return;
  crew_.asleep.enter(index_);
  bool work = crew_.stopping();
  for (const auto& other : crew_.workers) work = work || !other->no_task();
  if (!work && (poller_ == nullptr || poller_->arm())) {
    const auto patience =
        poller_ == nullptr ? std::chrono::nanoseconds::max() : poller_->patience();
    const int also = poller_ == nullptr ? -1 : poller_->descriptor();
    if (also < 0) {
      post_->bed.park(patience);
    } else {
      post_->bed.park_on(also, patience);
    }
    if (poller_ != nullptr) poller_->disarm();
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
  detail::worker* const here = detail::worker::current();
  if (here != nullptr && &here->address() == fiber_->home) {
    here->ready_here(fiber_);
  } else {
    fiber_->home->send(fiber_);
  }
}

namespace this_fiber {

void yield() {
  detail::worker* const here = detail::worker::current();
  if (here == nullptr) [[unlikely]] detail::throw_outside("yield", "a runtime");
  here->yield();
}

void park() {
  detail::worker* const here = detail::worker::current();
  if (here == nullptr) [[unlikely]] detail::throw_outside("park", "a runtime");
  here->park();
}

}  // namespace this_fiber
}  // namespace sched
}  // namespace v1
}  // namespace shunt
