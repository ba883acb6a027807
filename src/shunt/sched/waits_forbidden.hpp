/// Waiting, forbidden for the length of a scope in which no switch can happen.
#pragma once

#include <shunt/sched/detail/desk.hpp>
#include <shunt/sched/jobs.hpp>
#include <shunt/sched/runtime.hpp>

namespace shunt {
inline namespace v1 {
namespace sched {

namespace this_fiber {

/// Whether the caller is a fiber that may park and yield now. Legal anywhere. Cost: about 1 ns.
[[nodiscard]] inline bool may_wait() noexcept {
  const auto& d = detail::here();
  return d.in_fiber() && (d.forbid == nullptr || !d.forbid->in_force());
}

}  // namespace this_fiber

/// While one lives, `who` refuses what the running fiber would wait for, and jobs are not pushed: as
/// this_worker::forbid_wait(), at the cost of some stores. Outside a fiber it does nothing.
/// The fiber does not switch meanwhile, since it cannot.
class waits_forbidden {
 public:
  explicit waits_forbidden(const no_wait& who) noexcept
      : desk_(detail::here()), before_(desk_.forbid), jobs_(job_deque::here()) {
    if (!desk_.in_fiber()) return;
    desk_.set_forbid(&who);
    job_deque::set_here(nullptr);
  }
  /// From now on, for as long as who.in_force(): likewise, for scopes that are too short, and too many, to do even
  /// that much for each. \return false: another one forbids here, and nothing has changed.
  [[nodiscard, gnu::always_inline]] static bool while_in_force(const no_wait& who) noexcept {
    auto& d = detail::here();
    return d.forbid == &who || !d.in_fiber() || newly(d, who);
  }
  ~waits_forbidden() {
    if (!desk_.in_fiber()) return;
    desk_.set_forbid(before_);
    job_deque::set_here(jobs_);
  }
  waits_forbidden(const waits_forbidden&) = delete;
  waits_forbidden& operator=(const waits_forbidden&) = delete;

 private:
  [[nodiscard, gnu::noinline, gnu::cold]] static bool newly(detail::desk& d, const no_wait& who) noexcept {
    if (d.forbid != nullptr && d.forbid->in_force()) return false;
    d.set_forbid(&who);
    job_deque::set_here(nullptr);
    return true;
  }

  detail::desk& desk_;
  const no_wait* const before_;
  job_deque* const jobs_;
};

}  // namespace sched
}  // namespace v1
}  // namespace shunt
