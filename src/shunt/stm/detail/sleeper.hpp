/// One wait of a fiber, or of a plain thread.
#pragma once

#include <chrono>
#include <shunt/sched/sleeper.hpp>

namespace shunt {
inline namespace v1 {
namespace stm::detail {

using time_point = std::chrono::steady_clock::time_point;

/// Whether the caller may sleep: a fiber that may park, or a thread that is no worker.
[[nodiscard]] bool may_sleep() noexcept;

/// Of who may sleep (contract). Tests that run the engine under a scheduler of theirs sleep there (test_sleep()).
class sleeper : private sched::sleeper {
 public:
  using sched::sleeper::reset;
  using sched::sleeper::wake;
  using sched::sleeper::woken;

  /// \return false if the time was over first. Without a deadline it need not be looked at. \throws std::bad_alloc, for
  /// a deadline.
  bool sleep_until(time_point deadline, const char* what);
};

}  // namespace stm::detail
}  // namespace v1
}  // namespace shunt
