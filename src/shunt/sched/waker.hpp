/// How others wake a fiber, and know it by.
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
  constexpr waker() noexcept = default;  ///< wakes nobody

  /// Any thread, any number of times, also after the fiber has ended: then it does nothing, or
  /// wakes a later fiber spuriously. A wake is never lost: if the fiber is not parked, its next
  /// park() returns at once. What the caller wrote before is visible to the fiber after park().
  /// Cost: one exchange; to another worker's fiber two more, and a system call if that worker
  /// sleeps.
  void wake() const noexcept;

  /// Asks the memory for what wake() touches, for who will call it some hundred instructions from now.
  void prefetch() const noexcept;

  [[nodiscard]] explicit operator bool() const noexcept { return fiber_ != nullptr; }
  friend bool operator==(const waker&, const waker&) = default;

 private:
  friend struct detail::fiber;
  explicit constexpr waker(detail::fiber* f) noexcept : fiber_(f) {}
  detail::fiber* fiber_ = nullptr;
};

/// One fiber, told apart from all others that were and will be (until four thousand million have
/// lived in the same place). A value; keeps nothing alive.
class fiber_id {
 public:
  constexpr fiber_id() noexcept = default;  ///< nobody's

  [[nodiscard]] explicit operator bool() const noexcept { return fiber_ != nullptr; }
  friend bool operator==(const fiber_id&, const fiber_id&) = default;

 private:
  friend struct detail::fiber;
  constexpr fiber_id(detail::fiber* f, std::uint32_t life) noexcept : fiber_(f), life_(life) {}
  detail::fiber* fiber_ = nullptr;
  std::uint32_t life_ = 0;
};

}  // namespace sched
}  // namespace v1
}  // namespace shunt
