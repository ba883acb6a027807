/// A set of workers that run fibers.
///
/// ```cpp
/// shunt::sched::runtime workers;
/// workers.run([&] {
///   for (int i = 0; i < 8; ++i) workers.spawn([i] { serve(i); });
/// });  // all nine have ended
/// ```
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <typeinfo>

#include <shunt/sched/chooser.hpp>
#include <shunt/sched/fiber.hpp>
#include <shunt/sched/poller.hpp>

namespace shunt {
inline namespace v1 {
namespace sched {

struct options {
  /// Threads that run fibers, run()'s caller among them; 0: default_workers(), which respects
  /// affinity and CPU quota.
  int workers = 0;

  /// Bind worker i to the i-th usable CPU while run() runs. Done only if there are no more workers
  /// than CPUs, and more than half as many: where a second process like this one would fit beside
  /// it, the two would bind to the same CPUs.
  bool pin = true;

  /// A fiber's stack, unless spawn_options says otherwise. Rounded up to pages; below it a gap that faults on any
  /// access: 68 KiB, an eighth of a stack of less than 256 KiB (a page where RLIMIT_AS is set). See context/DESIGN.md.
  std::size_t stack_bytes = 256 * 1024;

  /// The stack of run()'s root: often a program's main part, written with 8 MiB in mind. Address
  /// space only, until touched.
  std::size_t root_stack_bytes = 8 * 1024 * 1024;

  /// How long a worker without work looks for some before it sleeps; unless the last fiber that left it rests
  /// (this_fiber::rest_until). With more workers than CPUs (or quota) it does not spin, but offers its CPU to others 8
  /// times.
  std::chrono::nanoseconds spin{50'000};

  /// If every worker has slept for so long, none with a poller or a deadline, and no other thread has woken a fiber of
  /// this run yet (or none can any more, see end_if_stuck), then very likely none will: `report` is told, once a run,
  /// with the table of all fibers. 0: it is not.
  std::chrono::nanoseconds stuck_after{1'000'000'000};

  /// If nothing in this process can ever wake a fiber of this run, the process then ends with status 70 and a line that
  /// says so: run() could not return, and the fibers' frames cannot be left. stdout is flushed; no destructor runs and
  /// no atexit function. Nothing can where all of this holds: every worker sleeps, without a poller or a deadline; the
  /// process has no threads but this runtime's; and no signal but SIGUSR1 (ours) and those of faults has a handler,
  /// which might end the process in another way. What
  /// cannot be found out, without /proc say, counts as something that can. Also SHUNT_END_IF_STUCK=0: it waits.
  bool end_if_stuck = true;

  /// A fiber that keeps its worker for so long without a yield or park is reported, with its stack,
  /// once each time. It is looked at twice in that time. 0: it is not.
  std::chrono::nanoseconds stall_after{0};

  /// A fiber that keeps its worker for so long while the worker's thread sleeps in the kernel is reported, with its
  /// stack and up to 20 other fibers of that worker, once each time: it waits for a std::mutex that another fiber of
  /// the worker keeps over a wait, or makes a blocking call. Looked at each half of that time while any worker is
  /// awake, so it is told after one and a half times of it at the latest. Not told of a fiber whose worker has no other
  /// started one, unless it waits for a mutex that is held. 0: it is not.
  std::chrono::nanoseconds blocked_after{5'000'000'000};

  /// If a run has not ended so long after it was asked to (runtime::request_stop()), `report` is told once who is still
  /// alive: those do not listen. 0: it is not.
  std::chrono::nanoseconds stop_after{5'000'000'000};

  /// Decides what runs next, and is used until the runtime ends: see chooser.hpp. Then there is one worker. Null:
  /// nobody.
  chooser* decides = nullptr;

  /// Is given such reports, by a worker's thread or one of ours: some lines, the last one ended.
  /// Must neither throw nor wait. Null: they are written to stderr.
  std::function<void(std::string_view)> report{};
};

struct spawn_options {
  /// Where it runs: 0..workers()-1; -1: anywhere, idle workers steal it until it has started.
  int worker = -1;
  std::string name{};           ///< for messages and debuggers
  std::size_t stack_bytes = 0;  ///< 0: the runtime's

  /// Idle workers are handed it also after it has started, when it is ready: `worker` is then where it starts. For
  /// fibers that compute for long, and wait between. What it costs: a thread_local, errno among them, may be another
  /// one's after any yield, park or wait, and compilers know nothing of that: see this_fiber::stay. A switch takes
  /// some 10 ns more, a fork of fork_join some 10 ns.
  bool migrates = false;

  /// If the system gives no memory for a stack when the fiber is to start. False: the body is dropped, and run() throws
  /// why. True: the body is called all the same, on the worker's own stack, as a fiber that cannot wait: park(),
  /// yield() and all that waits throw why. For a body whose end others wait for: it calls this_fiber::require_stack()
  /// first, and hands them what that throws.
  bool even_without_stack = false;
};

class runtime {
 public:
  /// Starts nothing yet. \throws usage_error for a negative number of workers, or for stacks of more than
  /// context::stack_pool::largest; std::bad_alloc.
  explicit runtime(options wanted = {});

  /// Not while run() runs: neither in one of its fibers nor on another thread. A destructor cannot throw, so this
  /// breach of contract is written to stderr, and ends the process (std::abort), in every build.
  /// Fibers spawned and never run are dropped.
  ~runtime();
  runtime(const runtime&) = delete;
  runtime& operator=(const runtime&) = delete;

  [[nodiscard]] int workers() const noexcept;

  /// Before run(). `source` is used until the runtime ends, or detach(), beside others that are attached.
  /// \throws usage_error for a worker out of range, while run() runs, or if `source` has a descriptor and another one
  ///         has, too; shunt::error if the system has no descriptor left; std::bad_alloc.
  void attach(int worker, poller& source);

  /// Not inside run(). From now on `source` is not used; nothing if it is not attached there.
  void detach(int worker, const poller& source) noexcept;

  /// Runs `root` as a fiber of worker 0, which is the calling thread, beside all that was spawned;
  /// returns when root and every spawned fiber have ended. May be called again. The calling
  /// thread's affinity is the same afterwards.
  /// \throws what root threw. Likewise if another fiber's body threw, or could not be given a
  ///         stack (then a shunt::error that names the limit to raise): request_stop(), everything else runs to its
  ///         end, then the first such exception in time is thrown here, and later ones are dropped.
  /// \throws usage_error inside a fiber or during another run(); shunt::error if the system starts no more threads: the
  ///         message names the limits, nothing has run, and what was spawned still waits for a run.
  void run(std::function<void()> root);

  /// Makes a fiber that runs `body`, later. Any fiber; any thread before run(); any other thread,
  /// or a poller, while it knows that run() cannot return (a fiber waits for it, say).
  /// On one worker, fibers spawned for it start in order; others newest first, or stolen.
  /// \return the new fiber's, which may have ended by then.
  /// \throws usage_error for a worker out of range or a stack of more than context::stack_pool::largest;
  ///         std::bad_alloc. Cost: about 100 ns. The stack is taken when the fiber starts: see run() and
  ///         spawn_options::even_without_stack for what happens if there is none.
  fiber_id spawn(std::function<void()> body, spawn_options where = {});

  /// Any thread. Asks everything in the present run to end, once: stop_token() and with it every
  /// shunt::fiber's token. Waits that were given one end then; those without go on. Nothing outside of a run.
  void request_stop() noexcept;

  /// Any thread: the present run's; the next run's has not been asked.
  [[nodiscard]] std::stop_token stop_token() const;

  /// Any thread, at any time: before `worker` sleeps next it polls once more; if it sleeps, it
  /// wakes. What the caller wrote before is visible to that poll. Cost: one exchange; a system call
  /// if the worker sleeps. \param worker  0..workers()-1 (contract).
  void unpark(int worker) noexcept;

 private:
  struct parts;
  std::unique_ptr<parts> parts_;
};

/// While set, park() and yield() of a worker's running fiber throw what refuse() throws, and spawn() what
/// on_spawn() throws. For code that must not wait: a handler amid a train, a transaction.
class no_wait {
 public:
  virtual ~no_wait() = default;
  /// \param call  what was refused: "park", "yield".
  [[noreturn]] virtual void refuse(const char* call) const = 0;
  /// A fiber is about to be spawned here: throws where not even that may be done.
  virtual void on_spawn() const {}
  /// Whether it still refuses. Asked on the worker's thread when something would wait there; false: it is cleared, as
  /// by forbid_wait(nullptr). So what forbids often need not take that back each time.
  [[nodiscard]] virtual bool in_force() const noexcept { return true; }
};

namespace detail {
/// \throws usage_error "what: a stack of ..." for one of more than context::stack_pool::largest.
void check_stack(const char* what, std::size_t bytes);
/// Of a worker's several.
[[nodiscard]] poller* one_of(poller& several, const std::type_info& kind) noexcept;
}  // namespace detail

namespace this_worker {

/// 0..workers()-1; -1 on a thread that is no worker.
[[nodiscard]] int index() noexcept;

/// Whether other fibers of this worker are ready: whether a yield would let another one run.
/// False on a thread that is no worker. Cost: about 3 ns.
[[nodiscard]] bool has_runnable() noexcept;

/// Whether a chooser decides what this worker does.
[[nodiscard]] bool directed() noexcept;

/// Where a chooser decides: a number below `ways`, as it likes, for what is not a fiber's turn: which of several queues
/// goes first, whether a message is lost. Elsewhere 0. \param ways  at least 1. Legal anywhere.
[[nodiscard]] std::size_t choose(std::size_t ways) noexcept;

/// The runtime that this thread works for. \throws shunt::error on a thread that is no worker.
[[nodiscard]] runtime& current();

/// A fiber: attaches to its worker, for as long as the runtime lives. \throws as runtime::attach(), shunt::error
/// outside a runtime. Cost: an allocation or two.
void attach(std::unique_ptr<poller> source);

/// The one of this very class that is attached to this worker; nullptr for none, or on a thread that is no worker.
template <typename Poller>
[[nodiscard]] Poller* attached() noexcept {
  poller* const outside = detail::here().outside;
  if (outside == nullptr) return nullptr;
  if (typeid(*outside) == typeid(Poller)) [[likely]]
    return static_cast<Poller*>(outside);
  return static_cast<Poller*>(detail::one_of(*outside, typeid(Poller)));
}

/// That of the poller attached to this worker that has one: poller::mark(). 0 for none, or on a thread that is no
/// worker.
[[nodiscard]] inline std::uint32_t mark() noexcept { return detail::here().mark; }

/// Sets, or with nullptr clears, who refuses waits on this worker. The running fiber puts the
/// previous one back before it ends. \return the previous one; nullptr for none, or no worker.
const no_wait* forbid_wait(const no_wait* who) noexcept;

}  // namespace this_worker
}  // namespace sched
}  // namespace v1
}  // namespace shunt
