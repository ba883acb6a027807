/// The running fiber: what it may ask of the scheduler, and how others wake it.
///
/// A fiber is a function with a stack of its own, run by a worker. It runs until it yields, parks
/// or ends: nothing interrupts it. Once started it stays on its worker (unless it was spawned as one
/// that migrates), so thread_locals (errno among them) are its worker's and do not change under it;
/// but every fiber of the worker shares them, so a value does not survive a yield or park.
#pragma once

#include <atomic>
#include <chrono>
#include <string_view>

#include <shunt/sched/detail/desk.hpp>
#include <shunt/sched/waker.hpp>

namespace shunt {
inline namespace v1 {
namespace sched {
namespace detail {
extern constinit std::atomic<int> directed_runs;  // that go on now, in this process
[[gnu::cold]] std::chrono::steady_clock::time_point now_directed() noexcept;
[[gnu::cold]] void interleave_directed() noexcept;
[[noreturn, gnu::cold]] void throw_no_fiber(const char* call);
[[gnu::cold]] void require_wait_slowly(const char* call);
}  // namespace detail

inline void waker::prefetch() const noexcept {
  if (fiber_ != nullptr) fiber_->prefetch();
}

/// The time of deadlines and waits: the steady clock's, or, on a worker for which a chooser decides, that run's own.
[[nodiscard]] inline std::chrono::steady_clock::time_point now() noexcept {
  // relaxed: what decides is the calling worker's own
  if (detail::directed_runs.load(std::memory_order_relaxed) != 0) [[unlikely]]
    return detail::now_directed();
  return std::chrono::steady_clock::now();
}

/// \return now() + time, or time_point::max() if that is past it: never.
[[nodiscard]] inline std::chrono::steady_clock::time_point after(std::chrono::nanoseconds time) noexcept {
  using point = std::chrono::steady_clock::time_point;
  const auto present = now();
  return time > point::max() - present ? point::max() : present + time;
}

/// Legal inside a fiber only, unless said otherwise.
namespace this_fiber {

/// Lets the worker's other ready fibers run first. Returns at once if there are none; every few
/// such calls the worker's poller is polled. Cost: about 3 ns with a few fibers, 15 ns with fifty
/// thousand, and what the others do.
/// \throws shunt::error outside a fiber; what no_wait::refuse throws while waiting is forbidden.
[[gnu::always_inline]] inline void yield();

/// A point at which other fibers may run first if a chooser decides (chooser.hpp); elsewhere it does nothing, and costs
/// a load. For what the modules do not see: between two accesses to what fibers share, say. Not in the hold of a lock
/// that others take. Legal anywhere.
inline void interleave() noexcept {
  if (detail::directed_runs.load(std::memory_order_relaxed) != 0) [[unlikely]]
    detail::interleave_directed();  // as in now()
}

/// Waits until somebody calls wake() on this fiber's waker. May return for no reason: re-check the
/// condition, in a loop. The worker runs other fibers meanwhile, or sleeps.
/// \param what  what is waited for, as report_fibers() will say it: "a future". Static text, or such that lives until
///   this returns.
/// \throws as yield().
void park(const char* what = "a wake");

/// The same until `deadline` at the longest. \return false: the time was over first; a wake that
/// comes later makes the next park() return at once. time_point::max() is no deadline: then it is park().
/// Cost: as park(), and O(log n) in the deadlines that are waited for on this worker. Their times
/// are looked at every 64 switches, and when nothing else is ready.
/// \throws as yield(); std::bad_alloc.
[[nodiscard]] bool park_until(std::chrono::steady_clock::time_point deadline, const char* what = "a wake");
[[nodiscard]] inline bool park_for(std::chrono::nanoseconds time, const char* what = "a wake") {
  return park_until(after(time), what);
}

/// As park_until(), for who has looked around himself, or is in no hurry: if the worker is left without work, and this
/// is the fiber that left it last, it sleeps at once, rather than look around for options::spin before.
[[nodiscard]] bool rest_until(std::chrono::steady_clock::time_point deadline, const char* what = "a wake");

/// Runs on after `deadline`. The worker runs other fibers meanwhile. Wakes do not cut it short.
/// \throws as park_until().
void sleep_until(std::chrono::steady_clock::time_point deadline);
void sleep_for(std::chrono::nanoseconds time);

/// \throws shunt::error outside a fiber.
[[nodiscard]] inline waker self() {
  detail::fiber* const me = detail::here().running();
  if (me == nullptr) [[unlikely]]
    detail::throw_no_fiber("self");
  return detail::fiber::waker_of(me);
}

/// Nobody's outside of fibers. Legal anywhere.
[[nodiscard]] inline fiber_id id() noexcept {
  detail::fiber* const me = detail::here().running();
  return me == nullptr ? fiber_id{} : detail::fiber::id_of(me);
}

/// The name given to spawn(); empty if none, or outside a fiber. Valid while the fiber runs.
[[nodiscard]] inline std::string_view name() noexcept {
  const detail::fiber* const me = detail::here().running();
  return me == nullptr ? std::string_view{} : me->called();
}

/// Whether the caller is a fiber. Legal anywhere.
[[nodiscard]] inline bool inside() noexcept { return detail::here().in_fiber(); }

/// Throws what park() would throw here and now, under the name of `call`; for functions that must
/// know it before they have done half their work. While the fiber runs on, the answer stays.
inline void require_wait(const char* call) {
  const detail::desk& d = detail::here();
  if (!d.in_fiber() || d.forbid != nullptr) [[unlikely]]
    detail::require_wait_slowly(call);
}

/// Throws why the running fiber has no stack of its own, if it has none: see spawn_options::even_without_stack. Else,
/// and outside of fibers, nothing. Cost: about 2 ns.
void require_stack();

/// One word that belongs to the running fiber, for the module that builds task scopes on it. Null in
/// a new fiber, and outside of fibers.
[[nodiscard]] inline void* scope() noexcept {
  const detail::fiber* const me = detail::here().running();
  return me == nullptr ? nullptr : me->scope;
}
inline void set_scope(void* word) {
  detail::fiber* const me = detail::here().running();
  if (me == nullptr) [[unlikely]]
    detail::throw_no_fiber("set_scope");
  me->scope = word;
}

/// While one lives the fiber stays on its worker, though it migrates: for code that keeps something of the
/// thread's over a wait, a thread_local's address or a lock that knows its owner. Elsewhere it does nothing.
/// Destroyed by the fiber that made it. They nest.
class stay {
 public:
  stay() noexcept : who_(detail::here().running()) {
    if (who_ != nullptr) ++who_->pins;
  }
  ~stay() {
    if (who_ != nullptr) --who_->pins;
  }
  stay(const stay&) = delete;
  stay& operator=(const stay&) = delete;

 private:
  detail::fiber* const who_;
};

inline void yield() {
  if (!detail::yield_quickly(detail::here())) detail::yield_slowly();
}

}  // namespace this_fiber
}  // namespace sched
}  // namespace v1
}  // namespace shunt
