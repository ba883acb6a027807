#include <shunt/sched/jobs/jobs.hpp>

#include <string>

#include <shunt/sched/detail/shared.hpp>
#include <shunt/sched/detail/worker.hpp>

namespace shunt {
inline namespace v1 {
namespace sched {

[[gnu::used]] constinit thread_local job_deque* job_deque::of_this_fiber = nullptr;
job_deque* job_deque::here_by_call() noexcept { return of_this_fiber; }
#if !defined(__x86_64__)
void job_deque::set_here_by_call(job_deque* d) noexcept { of_this_fiber = d; }
#endif

void job::wait() noexcept {
  if (word_.load(std::memory_order_acquire) == done) return;  // edge `done` in
  const waker me = this_fiber::self();
  auto seen = open;
  // release: edge `asked` out. acquire on failure: edge `done` in.
  if (!word_.compare_exchange_strong(seen, reinterpret_cast<std::uintptr_t>(&me), std::memory_order_release,
                                     std::memory_order_acquire)) {
    return;
  }
  while (word_.load(std::memory_order_acquire) != done) this_fiber::park("a stolen job");  // edge `done` in
}

/// Under the forker's scope. The last store to the word is the last access to the job, which may be gone then.
void job::run_stolen() noexcept {
  this_fiber::set_scope(scope_);
  body_(*this);
  this_fiber::set_scope(nullptr);
  auto seen = open;
  // release: edge `done` out. acquire on failure: edge `asked` in.
  if (word_.compare_exchange_strong(seen, done, std::memory_order_release, std::memory_order_acquire)) {
    return;
  }
  const waker forker = *reinterpret_cast<const waker*>(seen);  // before the store that frees it
  word_.store(done, std::memory_order_release);                // edge `done` out
  forker.wake();
}

job_deque::job_deque(detail::worker& owner, const detail::ready_ring& ready) noexcept : ready_(ready), owner_(owner) {}

/// The rest of a push that found that a sleeper waits for it, or that the ring is full.
job_deque::position job_deque::tell(position at) noexcept {
  const bool full = ring_.listen(at);
  // One push wakes one sleeper; with others asleep the next push wakes the next.
  if (owner_.all.offer_task()) ring_.keep_listening();
  if (!full) return at;
  const auto verdict = asymmetric_fence::usable() ? ring_.take<detail::fences::asymmetric>(at)
                                                  : ring_.take<detail::fences::symmetric>(at);
  return verdict == detail::whose::mine ? nowhere : at;
}

/// Refuses first where waiting is forbidden; then pins the fiber for as long as the job is in the ring.
job_deque::position job_deque::push_elsewhere(job& j, const char* call) {
  detail::worker* const here = detail::worker::current();
  if (here == nullptr || !here->in_fiber()) {
    throw usage_error(
        error_number(101),
        std::string(call) + ": called outside a fiber: call it in what shunt::launch() or runtime::run() runs");
  }
  // A job lies on the stack of its forker, and other workers read it there.
  if (here->waiting_forbidden() || here->running()->compact) return nowhere;
  job_deque& jobs = here->jobs;
  const auto at = jobs.ring_.next();
  j.scope_ = here->running()->scope;
  here->running()->pin();
  if (jobs.ring_.push<detail::fences::symmetric>(&j, at) == detail::after_push_job::tell && jobs.tell(at) == nowhere) {
    here->running()->unpin();
    return nowhere;
  }
  this_fiber::interleave();
  return at;
}

bool job_deque::take_elsewhere(position at) noexcept {
  if (at == nowhere) return true;
  detail::worker* const here = detail::worker::current();
  here->running()->unpin();
  return here->jobs.ring_.take<detail::fences::symmetric>(at) == detail::whose::mine;
}

bool job_deque::runs_dry_elsewhere() noexcept {
  detail::worker* const here = detail::worker::current();
  return !here->waiting_forbidden() && !here->running()->compact && here->jobs.runs_dry();
}

}  // namespace sched
}  // namespace v1
}  // namespace shunt
