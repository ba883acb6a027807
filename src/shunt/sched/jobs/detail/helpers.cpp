#include <shunt/sched/jobs/detail/helpers.hpp>

#include <algorithm>
#include <cstddef>

#include <shunt/base/asymmetric_fence.hpp>
#include <shunt/sched/detail/worker.hpp>
#include <shunt/sched/jobs/jobs.hpp>

namespace shunt {
inline namespace v1 {
namespace sched {
namespace detail {

bool helpers::any_job(const worker& w) noexcept {
  return std::any_of(w.all.workers.begin(), w.all.workers.end(),
                     [](const auto& each) { return !each->jobs.ring_.looks_empty(); });
}

bool helpers::start(worker& w) noexcept {
  if (!any_job(w)) return false;
  fiber* const helper = make(w);
  if (helper == nullptr) return false;
  const bool own = !w.jobs.runs_dry();
  const auto before = w.starter.failures();
  w.run(helper);
  // A helper that got no stack has left other workers' jobs alone: then this worker may sleep.
  return own || w.starter.failures() == before;
}

bool helpers::start_soon(worker& w) noexcept {
  if (w.jobs.runs_dry()) return false;
  fiber* const helper = make(w);
  if (helper == nullptr) return false;
  w.unstarted.push(helper);
  return true;
}

/// A fiber that may run on the loop's stack, if there is no memory for its own.
fiber* helpers::make(worker& w) noexcept {
  try {
    fiber* const f = w.starter.new_fiber();
    f->body = [&w] { run_jobs(w); };  // one pointer: needs no memory
    f->stack.bytes = w.all.settings.root_stack_bytes;
    f->even_without_stack = true;
    f->set_home(&w.remote);
    w.published.count_spawn();
    return f;
  } catch (...) {
    return nullptr;
  }
}

/// A helper's body. A helper without a stack leaves other workers' jobs to their forkers, which have stacks. It runs
/// the jobs of this worker: their forkers may be parked, and wait for what the jobs do. Where such a job would wait,
/// the wait throws why there is no stack.
void helpers::run_jobs(worker& w) noexcept {
  if (w.controlled != nullptr) w.controlled->helper_waits = false;
  while (job* const j = w.starter.without_stack() == nullptr ? steal(w) : w.jobs.ring_.steal<fences::symmetric>()) {
    j->run_stolen();
    if (w.has_runnable()) return;
  }
}

/// Its own ring first, without a heavy fence: the owner is this thread. Then the others, from a random one on.
job* helpers::steal(worker& w) noexcept {
  if (job* const own_job = w.jobs.ring_.steal<fences::symmetric>()) return own_job;
  const auto count = w.all.workers.size();
  const auto first = w.idle.next_victim(count);
  for (std::size_t i = 0; i < count; ++i) {
    worker& victim = *w.all.workers[(first + i) % count];
    if (&victim == &w) continue;
    job* const found =
        w.asymmetric ? victim.jobs.ring_.steal<fences::asymmetric>() : victim.jobs.ring_.steal<fences::symmetric>();
    if (found != nullptr) return found;
  }
  return nullptr;
}

/// The heavy fence stands between the announcement, which the next push reads, and the look.
bool helpers::ask_for_jobs(worker& w) noexcept {
  bool owes_fence = false;
  for (const auto& each : w.all.workers) {
    if (each.get() != &w) owes_fence |= each->jobs.ring_.want();
  }
  if (owes_fence && w.asymmetric) asymmetric_fence::heavy();
  return any_job(w);
}

}  // namespace detail
}  // namespace sched
}  // namespace v1
}  // namespace shunt
