/// Forbids waiting for the length of a scope, in which no switch can happen then.
#pragma once

#include <shunt/sched/detail/worker_state.hpp>
#include <shunt/sched/jobs/jobs.hpp>
#include <shunt/sched/no_wait.hpp>
#include <shunt/sched/runtime.hpp>

namespace shunt {
inline namespace v1 {
namespace sched {

namespace this_fiber {

/// Any thread. Whether the caller is a fiber that may park and yield now. Cost: about 1 ns.
[[nodiscard]] inline bool may_wait() noexcept {
  const auto& d = detail::here();
  return d.in_fiber() && (d.forbid == nullptr || !d.forbid->in_force());
}

}  // namespace this_fiber

/// While one lives, `by` refuses what the running fiber would wait for, and jobs are not pushed: like
/// this_worker::forbid_wait(), at the cost of some stores. Outside a fiber it does nothing. The fiber cannot switch
/// meanwhile.
class waits_forbidden {
 public:
  /// \param by  what refuses, as errors name it; outlives this object.
  explicit waits_forbidden(const no_wait& by) noexcept
      : state_(detail::here()), before_(state_.forbid), jobs_(job_deque::here()) {
    if (!state_.in_fiber()) return;
    state_.set_forbid(&by);
    job_deque::set_here(nullptr);
  }
  /// The same from now on, for as long as by.in_force(): for scopes that are so short and so many that even these
  /// stores cost too much for each. \return false: another no_wait forbids here, and nothing has changed.
  [[nodiscard, gnu::always_inline]] static bool while_in_force(const no_wait& by) noexcept {
    auto& d = detail::here();
    return d.forbid == &by || !d.in_fiber() || newly(d, by);
  }
  ~waits_forbidden() {
    if (!state_.in_fiber()) return;
    state_.set_forbid(before_);
    job_deque::set_here(jobs_);
  }
  waits_forbidden(const waits_forbidden&) = delete;
  waits_forbidden& operator=(const waits_forbidden&) = delete;

 private:
  [[nodiscard, gnu::noinline, gnu::cold]] static bool newly(detail::worker_state& d, const no_wait& by) noexcept {
    if (d.forbid != nullptr && d.forbid->in_force()) return false;
    d.set_forbid(&by);
    job_deque::set_here(nullptr);
    return true;
  }

  detail::worker_state& state_;
  const no_wait* const before_;
  job_deque* const jobs_;
};

}  // namespace sched
}  // namespace v1
}  // namespace shunt
