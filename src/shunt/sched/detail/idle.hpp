/// What a worker does without ready fibers: it looks for work, spins, and sleeps. Owner only: the worker's thread.
#pragma once

#include <cstddef>
#include <cstdint>

namespace shunt {
inline namespace v1 {
namespace sched {
namespace detail {

class worker;

class idle {
 public:
  explicit idle(int index) noexcept : victim_(static_cast<std::uint64_t>(index)) {}

  /// Everything that may make a fiber ready, once. \return whether anything moved.
  bool find_work(worker& w) noexcept;
  /// Looks again and again for options::spin. \return whether work was found.
  bool spin(worker& w) noexcept;
  /// Sleeps until work comes. See DESIGN.md, "No worker sleeps on work".
  void sleep(worker& w) noexcept;
  /// The worker is awake, and tells the monitor.
  static void wake_up(worker& w) noexcept;
  /// Where a round of stealing begins: a number below `count`.
  [[nodiscard]] std::size_t next_victim(std::size_t count) noexcept;

  bool last_fiber_rests = false;  // the fiber that left last expects nothing soon: see this_fiber::rest_until()

 private:
  bool steal_one(worker& w) noexcept;

  std::uint64_t victim_;
};

}  // namespace detail
}  // namespace sched
}  // namespace v1
}  // namespace shunt
