/// A worker's share in others' jobs: when it looks for them, and the fibers that run them.
///
/// A helper is a fiber that steals jobs and runs them until there is none, or the worker has other
/// fibers to run. An idle worker starts one when it sees a job, its own ring's included: the job's
/// forker may be parked. So may the helper be, in the middle of a job; then the next one starts.
#include <algorithm>
#include <shunt/sched/detail/worker.hpp>

namespace shunt {
inline namespace v1 {
namespace sched {
namespace detail {

const no_wait* worker::forbid_wait(const no_wait* who) noexcept {
  if (who == nullptr) who = without_stack_;  // which stands as long as its fiber runs
  if (const fiber* const me = running()) {
    // Where waiting is forbidden no job is pushed: a stolen one would have to be waited for.
    job_deque::set_here(who == nullptr && asymmetric_ && !me->migrates ? &jobs_ : nullptr);
  }
  const no_wait* const before = forbid;
  set_forbid(who);
  return before;
}

/// The loop, without anything else to do. \return whether there was a job.
bool worker::help() noexcept {
  const bool any = std::any_of(crew_.workers.begin(), crew_.workers.end(),
                               [](const auto& w) { return !w->jobs_.ring_.looks_empty(); });
  if (!any) return false;
  fiber* const helper = new_helper();
  if (helper == nullptr) return false;  // no memory: the forkers run their jobs themselves
  const bool own = !jobs_.ring_.looks_empty_here();
  const auto before = refusals_here_;
  run(helper);
  return own || refusals_here_ == before;
}

/// The loop, from time to time: a fiber may yield in a loop until its own job has run.
bool worker::help_soon() noexcept {
  if (jobs_.ring_.looks_empty_here()) return false;
  fiber* const helper = new_helper();
  if (helper == nullptr) return false;
  newcomers_.push(helper);
  return true;
}

fiber* worker::new_helper() noexcept {
  try {
    fiber* const f = blocks_.take();
    f->body = [this] { run_jobs(); };  // one pointer: needs no memory
    f->stack.bytes = crew_.settings.root_stack_bytes;
    f->even_without_stack = true;
    f->belongs_to(post_);
    count_spawn();
    return f;
  } catch (...) {
    return nullptr;
  }
}

/// A helper's body. A helper without a stack leaves others' jobs to their forkers, which have stacks. This worker's own
/// it runs: their forkers may be parked, and wait for what the jobs do. Such a job gets the reason where it would wait.
void worker::run_jobs() noexcept {
  if (directed_ != nullptr) directed_->helper_waits = false;
  while (job* const j = without_stack_ == nullptr ? steal_job() : jobs_.ring_.steal<fences::symmetric>()) {
    j->run_stolen();
    if (has_runnable()) return;
  }
}

job* worker::steal_job() noexcept {
  // Its own first, without a fence: the owner is this thread.
  if (job* const own_job = jobs_.ring_.steal<fences::symmetric>()) return own_job;
  const auto count = crew_.workers.size();
  victim_ = victim_ * 6364136223846793005U + 1442695040888963407U;  // Knuth's MMIX
  const auto first = static_cast<std::size_t>(victim_ >> 33);
  for (std::size_t i = 0; i < count; ++i) {
    worker& victim = *crew_.workers[(first + i) % count];
    if (&victim == this) continue;
    job* const found =
        asymmetric_ ? victim.jobs_.ring_.steal<fences::asymmetric>() : victim.jobs_.ring_.steal<fences::symmetric>();
    if (found != nullptr) return found;
  }
  return nullptr;
}

/// Before it sleeps, after it has entered itself among the sleepers. \return whether there is a
/// job. The heavy fence stands between the wish, which the next push reads, and the look.
bool worker::ask_for_jobs() noexcept {
  bool owes_fence = false;
  for (const auto& w : crew_.workers) {
    if (w.get() != this) owes_fence |= w->jobs_.ring_.want();
  }
  if (owes_fence && asymmetric_) asymmetric_fence::heavy();
  return std::any_of(crew_.workers.begin(), crew_.workers.end(),
                     [](const auto& w) { return !w->jobs_.ring_.looks_empty(); });
}

}  // namespace detail
}  // namespace sched
}  // namespace v1
}  // namespace shunt
