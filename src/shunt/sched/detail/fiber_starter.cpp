#include <shunt/sched/detail/fiber_starter.hpp>

#include <atomic>
#include <new>

#include <shunt/base/cache_line.hpp>
#include <shunt/context/switch.hpp>
#include <shunt/sched/detail/migration.hpp>
#include <shunt/sched/detail/worker.hpp>

namespace shunt {
inline namespace v1 {
namespace sched {
namespace detail {
namespace {

/// Forbids waits for a fiber that runs on its worker's loop's stack: nothing can switch away from there.
class no_stack final : public no_wait {
 public:
  explicit no_stack(const std::exception_ptr& why) noexcept : why_(why) {}
  [[noreturn]] void refuse(call_site) const override { std::rethrow_exception(why_); }

 private:
  const std::exception_ptr& why_;
};

}  // namespace

/// First the generation, so that no id means this fiber any more; then every member as a new fiber expects it.
void fiber_starter::drop(fiber* f) noexcept {
  // relaxed: only the owner of the block stores it. release: what the fiber was is over before edges to it end
  // (deadlock.E2).
  f->generation.store(f->generation.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  f->body = nullptr;
  f->name = nullptr;
  f->stack = {};
  f->set_home(nullptr);
  f->scope = nullptr;
  f->ended_away = false;
  f->even_without_stack = false;
  blocks_.give(f);
}

/// Reserves all memory that the fiber will need before it becomes `started`: from then on no queue can fail.
bool fiber_starter::start(worker& w, fiber* f, void (*body)(void*) noexcept) noexcept {
  f->set_home(&w.remote);
  std::exception_ptr why_not;
  try {
    const auto bytes = f->stack.bytes != 0 ? f->stack.bytes : w.all.settings.stack_bytes;
    w.ready.reserve(started_ + 1);
    if (f->compact) {
      compact_.begin(*f, bytes, stacks_);
    } else {
      f->stack = stacks_.take(bytes);
      if (f->migrates) f->moves.first_worker = w.index;
    }
  } catch (const std::bad_alloc&) {
    why_not = w.all.out_of_memory();
  } catch (...) {
    why_not = std::current_exception();
  }
  if (why_not) [[unlikely]] {
    run_without_stack(w, f, why_not);
    return false;
  }
  std::size_t usable = 0;
  if (f->compact) {
    usable = f->frames()->stack->used;
  } else {
    colour_ = (colour_ + 1) % colours;
    usable = f->stack.bytes - colour_ * cache_line;
  }
  context::prepare(f->run, f->stack.low, usable, body, f);
  f->started = true;
  ++started_;
  return true;
}

/// The whole life of a fiber that gets no stack. Its body runs here, on the loop's stack, if it was spawned so. All
/// that waits throws `why`, so the body can tell those that wait for it. Otherwise the fiber is dropped, and the run
/// fails.
void fiber_starter::run_without_stack(worker& w, fiber* f, const std::exception_ptr& why) noexcept {
  ++failures_;
  w.all.start_failed(why);
  if (!f->even_without_stack) w.all.fail(why);
  const no_stack refusal(why);
  const no_wait* const before = w.forbid;  // a poller's
  without_stack_ = &refusal;
  w.ready.set_running(f);
  w.set_forbid(&refusal);
  f->stack = {};
  try {
    if (f->even_without_stack) f->body();
    f->body = nullptr;  // here, so that the destructors of its captures still run in the fiber
  } catch (...) {
    w.all.fail(std::current_exception());
  }
  if (f->locals != nullptr) end_locals(*f);
  w.set_forbid(before);
  w.ready.set_running(nullptr);
  without_stack_ = nullptr;
  drop(f);
  w.published.count_end();
}

void fiber_starter::finish(worker& w, fiber* f) noexcept {
  w.idle.last_fiber_rests = false;
  if (f->migrates && f->moves.first_worker != w.index) return send_to_first_worker(w, f);
  f->started = false;
  std::atomic_signal_fence(std::memory_order_seq_cst);  // fiber.F4: from here on a snapshot does not see it
  context::retire(f->run);
  if (f->compact) {
    compact_.end(*f, stacks_);
  } else {
    stacks_.give(f->stack);
  }
  --started_;
  drop(f);
  w.published.count_end();
}

}  // namespace detail
}  // namespace sched
}  // namespace v1
}  // namespace shunt
