/// The running fiber: what it may ask of the scheduler, and how others wake it.
///
/// A fiber is a function with a stack of its own, run by a worker. It runs until it yields, parks
/// or ends: nothing interrupts it. Once started it stays on its worker, so thread_locals (errno
/// among them) are its worker's and do not change under it; but every fiber of the worker shares
/// them, so a value does not survive a yield or park.
#pragma once

#include <string_view>

namespace shunt {
inline namespace v1 {
namespace sched {

namespace detail {
struct fiber;
}

/// The right to wake one fiber. A value of one pointer; outlives the fiber and its runtime.
class waker {
 public:
  constexpr waker() noexcept = default;  ///< wakes nobody

  /// Any thread, any number of times, also after the fiber has ended: then it does nothing, or
  /// wakes a later fiber spuriously. A wake is never lost: if the fiber is not parked, its next
  /// park() returns at once. What the caller wrote before is visible to the fiber after park().
  /// Cost: one exchange; to another worker's fiber two more, and a system call if that worker
  /// sleeps.
  void wake() const noexcept;

  [[nodiscard]] explicit operator bool() const noexcept { return fiber_ != nullptr; }
  friend bool operator==(const waker&, const waker&) = default;

 private:
  friend struct detail::fiber;
  explicit constexpr waker(detail::fiber* f) noexcept : fiber_(f) {}
  detail::fiber* fiber_ = nullptr;
};

/// Legal inside a fiber only, unless said otherwise.
namespace this_fiber {

/// Lets the worker's other ready fibers run first. Returns at once if there are none; every few
/// such calls the worker's poller is polled. Cost: 5 to 10 ns and what the others do.
/// \throws shunt::error outside a fiber; what no_wait::refuse throws while waiting is forbidden.
void yield();

/// Waits until somebody calls wake() on this fiber's waker. May return for no reason: re-check the
/// condition, in a loop. The worker runs other fibers meanwhile, or sleeps.
/// \throws as yield().
void park();

/// \throws shunt::error outside a fiber.
[[nodiscard]] waker self();

/// The name given to spawn(); empty if none, or outside a fiber. Valid while the fiber runs.
[[nodiscard]] std::string_view name() noexcept;

/// Whether the caller is a fiber. Legal anywhere.
[[nodiscard]] bool inside() noexcept;

/// Throws what park() would throw here and now, under the name of `call`; for functions that must
/// know it before they have done half their work. While the fiber runs on, the answer stays.
void require_wait(const char* call);

/// One word that belongs to the running fiber, for the room that builds task scopes on it. Null in
/// a new fiber, and outside of fibers.
[[nodiscard]] void* scope() noexcept;
void set_scope(void* word);

}  // namespace this_fiber
}  // namespace sched
}  // namespace v1
}  // namespace shunt
