/// The running fiber: what it may ask of the scheduler.
///
/// A fiber is a function with a stack of its own, run by a worker. It runs until it yields, parks or ends: nothing
/// interrupts it. Once started it stays on its worker (unless it was spawned with spawn_options::migrates). So its
/// thread_locals, errno among them, are its worker's and stay in one place; but all fibers of the worker share them, so
/// a value does not survive a yield or park.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <source_location>
#include <span>
#include <string_view>

#include <shunt/base/call_site.hpp>
#include <shunt/sched/detail/worker_state.hpp>
#include <shunt/sched/waker.hpp>

namespace shunt {
inline namespace v1 {
namespace sched {
namespace detail {
extern constinit std::atomic<int> controlled_runs;  // runs of this process for which a strategy decides now
[[gnu::cold]] std::chrono::steady_clock::time_point now_controlled() noexcept;
[[gnu::cold]] void interleave_slowly() noexcept;
[[noreturn, gnu::cold]] void throw_no_fiber(call_site call);
[[gnu::cold]] void require_wait_slowly(call_site call);
[[noreturn, gnu::cold]] void throw_compact(call_site call);
}  // namespace detail

inline void waker::prefetch() const noexcept {
  if (word_ != 0) fiber()->prefetch();
}

/// Any thread. The time of deadlines and waits: the steady clock's; or, on a worker for which a strategy decides, the
/// run's own.
[[nodiscard]] inline std::chrono::steady_clock::time_point now() noexcept {
  // relaxed: now_controlled() asks the calling worker itself
  if (detail::controlled_runs.load(std::memory_order_relaxed) != 0) [[unlikely]]
    return detail::now_controlled();
  return std::chrono::steady_clock::now();
}

/// Any thread. \return now() + time; or time_point::max(), which is never, if that would be later.
[[nodiscard]] inline std::chrono::steady_clock::time_point after(std::chrono::nanoseconds time) noexcept {
  using point = std::chrono::steady_clock::time_point;
  const auto present = now();
  return time > point::max() - present ? point::max() : present + time;
}

/// Legal inside a fiber only, unless said otherwise.
namespace this_fiber {

/// Lets the worker's other ready fibers run first. Returns at once if there are none; every few such calls the worker's
/// poller is polled. Cost: about 3 ns with a few fibers, 15 ns with fifty thousand, and what the other fibers do.
/// \throws usage_error outside a fiber; what no_wait::refuse throws while waiting is forbidden.
[[gnu::always_inline]] inline void yield();

/// Legal anywhere. If a strategy decides (explore/strategy.hpp), other fibers may run first here; otherwise it does
/// nothing, and costs a load. For points that the modules do not see: between two accesses to what fibers share, say.
/// Not while the caller holds a lock that other fibers take.
inline void interleave() noexcept {
  if (detail::controlled_runs.load(std::memory_order_relaxed) != 0) [[unlikely]]
    detail::interleave_slowly();  // relaxed: as in now()
}

/// Waits until wake() is called on this fiber's waker. May return for no reason: re-check the condition, in a loop. The
/// worker runs other fibers meanwhile, or sleeps.
/// \param what  what is waited for, as report_fibers() will say it: "a future". The text lives until this returns.
/// \throws what yield() throws.
/// A fiber that has just woken another one switches straight to it.
[[gnu::always_inline]] inline void park(const char* what = "a wake");

/// The same, until `deadline` at the latest. time_point::max() is no deadline: then it is park().
/// \return false: the deadline passed first. A wake that comes later makes the next park() return at once.
/// \throws what yield() throws; std::bad_alloc.
/// Cost: that of park(), and O(log n) in the deadlines that are waited for on this worker. The worker looks at the
/// clock every 64 switches, and when nothing else is ready.
[[nodiscard]] bool park_until(std::chrono::steady_clock::time_point deadline, const char* what = "a wake");
/// The same, `time` from now at the latest; 0 or less: it does not wait.
[[nodiscard]] inline bool park_for(std::chrono::nanoseconds time, const char* what = "a wake") {
  return park_until(after(time), what);
}

/// Like park_until(), but if this call leaves the worker without work, the worker sleeps without spinning first
/// (options::spin). For a fiber that has polled itself, or is in no hurry.
[[nodiscard]] bool rest_until(std::chrono::steady_clock::time_point deadline, const char* what = "a wake");

/// Returns after `deadline`. The worker runs other fibers meanwhile. Wakes do not end it early.
/// \throws what park_until() throws.
void sleep_until(std::chrono::steady_clock::time_point deadline,
                 std::source_location where = std::source_location::current());
/// The same, `time` from now.
void sleep_for(std::chrono::nanoseconds time, std::source_location where = std::source_location::current());

/// The running fiber's waker. \throws usage_error outside a fiber.
[[nodiscard]] inline waker self() {
  detail::fiber* const me = detail::here().running();
  if (me == nullptr) [[unlikely]]
    detail::throw_no_fiber("self");
  return detail::fiber::waker_of(me);
}

/// Legal anywhere. The running fiber's; empty outside of fibers.
[[nodiscard]] inline fiber_id id() noexcept {
  detail::fiber* const me = detail::here().running();
  return me == nullptr ? fiber_id{} : detail::fiber::id_of(me);
}

/// Legal anywhere. The name that spawn() was given; empty if none, or outside a fiber. Valid while the fiber lives.
[[nodiscard]] inline std::string_view name() noexcept {
  const detail::fiber* const me = detail::here().running();
  return me == nullptr ? std::string_view{} : me->called();
}

/// Legal anywhere. Whether the caller is a fiber.
[[nodiscard]] inline bool inside() noexcept { return detail::here().in_fiber(); }

/// Throws what park() would throw here and now, under the name of `call`: for functions that must know it before they
/// have done half their work. The answer stays the same until the fiber waits next.
inline void require_wait(call_site call) {
  const detail::worker_state& d = detail::here();
  if (!d.in_fiber() || d.forbid != nullptr) [[unlikely]]
    detail::require_wait_slowly(call);
}

/// Legal anywhere. For functions that give other fibers or threads an address on the running fiber's stack, for a wait:
/// call it before. \throws usage_error under the name of `call`, in a compact fiber (spawn_options::compact).
inline void lend_frame(call_site call) {
  const detail::fiber* const me = detail::here().running();
  if (me != nullptr && me->compact) [[unlikely]]
    detail::throw_compact(call);
}

/// Legal anywhere. Throws why the running fiber has no stack of its own, if it has none: see
/// spawn_options::even_without_stack. Otherwise, and outside of fibers, it does nothing. Cost: about 2 ns.
void require_stack();

/// Legal anywhere. The stack that the caller runs on, from the caller's frame up to where the stack began: the running
/// fiber's; outside of fibers the thread's. Empty where the system does not say.
[[nodiscard]] std::span<const std::byte> live_stack() noexcept;

/// Legal anywhere. One word that belongs to the running fiber, for the module that builds task scopes on it. Null in a
/// new fiber, and outside of fibers.
[[nodiscard]] inline void* scope() noexcept {
  const detail::fiber* const me = detail::here().running();
  return me == nullptr ? nullptr : me->scope;
}
/// \throws usage_error outside a fiber.
inline void set_scope(void* word) {
  detail::fiber* const me = detail::here().running();
  if (me == nullptr) [[unlikely]]
    detail::throw_no_fiber("set_scope");
  me->scope = word;
}

/// While one lives, a fiber that migrates stays on its worker: for code that keeps something of the thread over a wait,
/// a thread_local's address or a lock that knows its owner. In other fibers, and outside, it does nothing. The fiber
/// that made it destroys it. They nest.
class stay {
 public:
  stay() noexcept : fiber_(detail::here().running()) {
    if (fiber_ != nullptr) fiber_->pin();
  }
  ~stay() {
    if (fiber_ != nullptr) fiber_->unpin();
  }
  stay(const stay&) = delete;
  stay& operator=(const stay&) = delete;

 private:
  detail::fiber* const fiber_;
};

inline void yield() {
  if (!detail::yield_quickly(detail::here())) detail::yield_slowly();
}

inline void park(const char* what) {
  if (!detail::park_quickly(detail::here(), what)) detail::park_slowly(what);
}

}  // namespace this_fiber
}  // namespace sched
}  // namespace v1
}  // namespace shunt
