/// How a fiber is woken, and how it is identified.
#pragma once

#include <cstdint>

namespace shunt {
inline namespace v1 {
namespace sched {

namespace detail {
struct fiber;
}

/// The right to wake one fiber. A value of one pointer; outlives the fiber and its runtime.
class waker {
 public:
  constexpr waker() noexcept = default;  ///< wakes no fiber

  /// Any thread, any number of times, also after the fiber has ended: then it does nothing, or wakes a later fiber
  /// spuriously. A wake is never lost: if the fiber is not parked, its next park() returns at once. What the caller
  /// wrote before is visible to the fiber after park().
  /// Cost: a few loads and stores on the fiber's own worker; from elsewhere two exchanges, and a system call if that
  /// worker sleeps.
  void wake() const noexcept;

  /// Prefetches what wake() touches, for a caller that will call it some hundred instructions from now.
  void prefetch() const noexcept;

  /// Whether it is of a fiber.
  [[nodiscard]] explicit operator bool() const noexcept { return word_ != 0; }
  /// Whether both are of the same fiber, or of none.
  friend bool operator==(const waker&, const waker&) = default;

 private:
  friend struct detail::fiber;
  // What is told beside the address is known before the first line of the fiber has come from memory.
  static constexpr std::uintptr_t compact = 1;
  static constexpr std::uintptr_t migrates = 2;
  explicit waker(detail::fiber* f, std::uintptr_t kind) noexcept : word_(reinterpret_cast<std::uintptr_t>(f) + kind) {}
  [[nodiscard]] detail::fiber* fiber() const noexcept {
    return reinterpret_cast<detail::fiber*>(word_ & ~(compact | migrates));
  }
  std::uintptr_t word_ = 0;
};

/// Identifies one fiber among all that were and will be (until 2^32 fibers have used the same block). A value; keeps
/// nothing alive.
class fiber_id {
 public:
  constexpr fiber_id() noexcept = default;  ///< of no fiber

  /// Whether it is of a fiber, which may have ended.
  [[nodiscard]] explicit operator bool() const noexcept { return fiber_ != nullptr; }
  /// Whether both mean the same fiber, or none.
  friend bool operator==(const fiber_id&, const fiber_id&) = default;

 private:
  friend struct detail::fiber;
  constexpr fiber_id(detail::fiber* f, std::uint32_t generation) noexcept : fiber_(f), generation_(generation) {}
  detail::fiber* fiber_ = nullptr;
  std::uint32_t generation_ = 0;
};

}  // namespace sched
}  // namespace v1
}  // namespace shunt
