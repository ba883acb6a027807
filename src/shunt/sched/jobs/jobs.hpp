/// Jobs: calls that wait on their forker's stack. The forker runs its job itself, unless an idle worker steals it
/// first.
///
/// For modules that build forms of parallelism (task/fork_join.hpp); programs use those. A forker makes a job, pushes
/// it, does something else, and takes it back:
///
/// ```cpp
/// auto* const jobs = sched::job_deque::here();
/// const auto at = jobs ? jobs->push(mine) : sched::job_deque::push_elsewhere(mine, "fork_join");
/// something_else();
/// if (jobs ? jobs->take(at) : sched::job_deque::take_elsewhere(at)) run_here(mine);
/// else mine.wait();
/// ```
///
/// An idle worker runs a stolen job in a fiber of its own. That fiber's stack has the size of a root's
/// (options::root_stack_bytes), and its scope is the forker's (this_fiber::scope()). See JOBS.md.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include <shunt/base/error.hpp>
#include <shunt/base/thread_pointer.hpp>
#include <shunt/sched/detail/fiber.hpp>
#include <shunt/sched/detail/ready_ring.hpp>
#include <shunt/sched/fiber.hpp>
#include <shunt/sched/jobs/detail/job_ring.hpp>

namespace shunt {
inline namespace v1 {
namespace sched {
namespace detail {
class worker;
struct helpers;
}  // namespace detail

/// One call, on its forker's stack.
///
///   word       run_stolen(), the thief   wait(), the forker
///   open       -> done                   -> asked, parks until done
///   asked      -> done, wakes            breach of contract
///   done       breach of contract        returns
///
/// Edges
///   asked   wait -> run_stolen   the waker of the forker
///   done    run_stolen -> wait   what the job wrote. The thief touches nothing of the job afterwards.
class job {
 public:
  /// Runs the job: called once, on the thief's fiber. Must not throw.
  using body = void (*)(job&) noexcept;

  /// \param b  what a thief calls with this job.
  explicit job(body b) noexcept : body_(b) {}
  job(const job&) = delete;
  job& operator=(const job&) = delete;
  ~job() = default;

  /// The forker's fiber, after a take() that said that the job was stolen: parks until the job is done.
  /// \throws what park() throws.
  void wait() noexcept;

 private:
  friend class job_deque;
  friend struct detail::helpers;
  static constexpr std::uintptr_t open = 0;
  static constexpr std::uintptr_t done = 1;

  void run_stolen() noexcept;  ///< the thief's fiber

  body body_;
  void* scope_;                             // the forker's; written by push, edge `pushed`
  std::atomic<std::uintptr_t> word_{open};  // or a const waker*
};

/// A worker's jobs, and its fibers' way to them.
class job_deque {
 public:
  static constexpr std::size_t slots = 1024;  ///< jobs that may be pushed at a time; the forker runs others itself
  /// Where a job was pushed.
  using position = detail::job_ring<job, slots>::position;
  static constexpr position nowhere = detail::job_ring<job, slots>::nowhere;  ///< not pushed: the forker runs it itself

  /// \param ready  says which fiber runs.
  job_deque(detail::worker& owner, const detail::ready_ring& ready) noexcept;

  /// Any thread. The deque of the running fiber's worker, if jobs are pushed and taken in the usual way there; nullptr
  /// elsewhere: push_elsewhere() says why. It stays the same while the fiber lives: a fiber that migrates gets nullptr,
  /// and other fibers stay on their workers.
  [[nodiscard, gnu::always_inline]] static job_deque* here() noexcept {
    job_deque* found;
    SHUNT_READ_THREAD_POINTER(found, "shunt_sched_jobs_v1", here_by_call);
    return found;
  }

  /// The running fiber of this worker. Never waits; allocates nothing; wakes a sleeper if there is one. \return where
  /// the job is; nowhere if there was no room: then the forker runs it itself.
  [[nodiscard]] position push(job& j) noexcept {
    const auto at = ring_.next();
    j.scope_ = ready_.running()->scope;
    if (ring_.push<detail::fences::asymmetric>(&j, at) == detail::after_push_job::tell) [[unlikely]] {
      return tell(at);
    }
    return at;
  }

  /// The fiber that pushed, once for each push; jobs in reverse order.
  /// \return true: the caller must run the job. false: it was stolen; the caller calls job::wait().
  [[nodiscard]] bool take(position at) noexcept {
    return ring_.take<detail::fences::asymmetric>(at) == detail::whose::mine;
  }

  /// Like push() and take(), where here() is nullptr. Where waiting is forbidden, nothing is pushed. Where the kernel
  /// refuses membarrier, the operations are sequentially consistent. A fiber that migrates stays on its worker from the
  /// push to the take.
  /// \param call  the function that the program called, for errors. \throws usage_error outside a fiber.
  [[nodiscard]] static position push_elsewhere(job& j, const char* call);
  /// The job that push_elsewhere() pushed. \return false: it was stolen.
  [[nodiscard]] static bool take_elsewhere(position at) noexcept;

  /// The running fiber of this worker. \return whether thieves would find nothing here. A look.
  [[nodiscard]] bool runs_dry() const noexcept { return ring_.looks_empty_here(); }
  /// The same, one load cheaper, for a loop that asks again and again. \param above  what level() said before the loop.
  /// If the level has changed meanwhile, the answer is that of another moment, and does no harm.
  [[nodiscard]] bool runs_dry(position above) const noexcept { return ring_.looks_empty_below(above); }
  /// For runs_dry(): where the next job would go.
  [[nodiscard]] position level() const noexcept { return ring_.next(); }
  /// A fiber, where here() is nullptr: the same; false where nothing may be pushed.
  [[nodiscard]] static bool runs_dry_elsewhere() noexcept;

 private:
  friend struct detail::helpers;  // steal
  friend class detail::worker;    // says where here() leads
  friend class waits_forbidden;   // likewise
  [[gnu::cold, gnu::noinline]] position tell(position at) noexcept;
  static void set_here(job_deque* d) noexcept {
#if defined(__x86_64__)
    void* offset;
    asm volatile(
        "movq shunt_sched_jobs_v1@gottpoff(%%rip), %0\n\t"
        "movq %1, %%fs:(%0)"
        : "=&r"(offset)
        : "r"(d)
        : "memory");
#else
    set_here_by_call(d);
#endif
  }
#if !defined(__x86_64__)
  [[gnu::noinline]] static void set_here_by_call(job_deque* d) noexcept;
#endif

  [[gnu::tls_model("initial-exec")]] static constinit thread_local job_deque* of_this_fiber asm("shunt_sched_jobs_v1");
  [[nodiscard, gnu::noinline]] static job_deque* here_by_call() noexcept;

  detail::job_ring<job, slots> ring_;
  const detail::ready_ring& ready_;
  detail::worker& owner_;
};

}  // namespace sched
}  // namespace v1
}  // namespace shunt
