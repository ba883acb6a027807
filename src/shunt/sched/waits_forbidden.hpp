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
  return d.running != nullptr && d.forbid == nullptr;
}

}  // namespace this_fiber

/// While one lives, `who` refuses what the running fiber would wait for, and jobs are not pushed: as
/// this_worker::forbid_wait(), at the cost of some stores. Outside a fiber it does nothing.
/// The fiber does not switch meanwhile, since it cannot.
class waits_forbidden {
 public:
  explicit waits_forbidden(const no_wait& who) noexcept
      : desk_(detail::here()), before_(desk_.forbid), jobs_(job_deque::here()) {
    if (desk_.running == nullptr) return;
    desk_.forbid = &who;
    job_deque::set_here(nullptr);
  }
  ~waits_forbidden() {
    if (desk_.running == nullptr) return;
    desk_.forbid = before_;
    job_deque::set_here(jobs_);
  }
  waits_forbidden(const waits_forbidden&) = delete;
  waits_forbidden& operator=(const waits_forbidden&) = delete;

 private:
  detail::desk& desk_;
  const no_wait* const before_;
  job_deque* const jobs_;
};

}  // namespace sched
}  // namespace v1
}  // namespace shunt
