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
#include <source_location>
#include <stop_token>
#include <string>
#include <string_view>
#include <typeinfo>

#include <shunt/base/call_site.hpp>
#include <shunt/sched/explore/strategy.hpp>
#include <shunt/sched/fiber.hpp>
#include <shunt/sched/no_wait.hpp>
#include <shunt/sched/poller.hpp>

namespace shunt {
inline namespace v1 {
namespace sched {

/// How a runtime runs. Most programs need none of it.
struct options {
  /// Threads that run fibers, run()'s caller among them; 0: default_workers(), which respects affinity and CPU quota.
  int workers = 0;

  /// Binds worker i to the i-th usable CPU while run() runs. Done only if there are no more workers than CPUs, and more
  /// than half as many: where a second process like this one would fit beside it, both would bind to the same CPUs.
  bool pin = true;

  /// A fiber's stack, in bytes, unless spawn_options says otherwise. Rounded up to pages. Below it lies a gap that
  /// faults on any access: 68 KiB; an eighth of a stack of less than 256 KiB; a page where RLIMIT_AS is set. See
  /// context/DESIGN.md.
  std::size_t stack_bytes = 256 * 1024;

  /// The stack of run()'s root, in bytes: often a program's main part, written with 8 MiB in mind. Only address space,
  /// until it is touched.
  std::size_t root_stack_bytes = 8 * 1024 * 1024;

  /// How long a worker without work looks for some before it sleeps; not at all if the last fiber that left it rests
  /// (this_fiber::rest_until). With more workers than CPUs (or quota) a worker does not spin, but offers its CPU to
  /// other threads 8 times.
  std::chrono::nanoseconds spin{50'000};

  /// If every worker has slept for so long, none with a poller or a deadline, and no other thread has woken a fiber of
  /// this run yet (or none can any more, see end_if_stuck), then very likely none will. Then `report` is called, once a
  /// run, with the table of all fibers. 0: never.
  std::chrono::nanoseconds stuck_after{1'000'000'000};

  /// If moreover nothing in this process can ever wake a fiber of this run, the process ends with status 70 and a line
  /// that says so: run() could not return, and the fibers' frames cannot be left. stdout is flushed; no destructor and
  /// no atexit function runs. Nothing can wake a fiber where all of this holds: every worker sleeps, without a poller
  /// or a deadline; the process has no threads but this runtime's; and no signal has a handler but SIGUSR1 (ours) and
  /// those of faults. What cannot be found out, without /proc say, counts as something that can. With
  /// SHUNT_END_IF_STUCK=0 the process waits instead.
  bool end_if_stuck = true;

  /// A fiber that keeps its worker for so long without a yield or park is reported, with its stack, once each time. The
  /// monitor looks twice in that time. 0: never.
  std::chrono::nanoseconds stall_after{0};

  /// A fiber that keeps its worker for so long while the worker's thread sleeps in the kernel is reported, with its
  /// stack and up to 20 other fibers of that worker, once each time: it waits for a std::mutex that another fiber of
  /// the worker keeps over a wait, or it makes a blocking call. While any worker is awake, the monitor looks each half
  /// of that time, so the report comes after one and a half times of it at the latest. A fiber whose worker has no
  /// other started fiber is reported only if it waits for a mutex that is held. 0: never.
  std::chrono::nanoseconds blocked_after{5'000'000'000};

  /// If a run has not ended so long after runtime::request_stop(), `report` is called once with the fibers that are
  /// still alive: they do not listen. Likewise for each task_group, and each shunt::fiber, that was asked to stop and
  /// is waited for. 0: never.
  std::chrono::nanoseconds stop_after{5'000'000'000};

  /// Decides what runs next, and is used until the runtime ends: see explore/strategy.hpp. Then there is one worker.
  /// Null: fibers run in the order in which they become ready.
  sched::strategy* strategy = nullptr;

  /// Gets such reports, from a worker's thread or the monitor's: some lines, the last one ended. Must neither throw nor
  /// wait. Null: they are written to stderr.
  std::function<void(std::string_view)> report{};
};

/// How a fiber is started.
struct spawn_options {
  /// The worker that the fiber runs on: 0..workers()-1; -1: any, and idle workers may steal it until it has started.
  int worker = -1;
  std::string name{};           ///< for messages and debuggers
  std::size_t stack_bytes = 0;  ///< 0: the runtime's

  /// The fiber may go to an idle worker also after it has started, when it is ready: `worker` is then where it starts.
  /// For fibers that compute for long, and wait between. What it costs: after any yield, park or wait a thread_local,
  /// errno among them, may be another thread's, and compilers do not know that: see this_fiber::stay. A switch takes
  /// some 30 ns more, a fork of fork_join some 5 ns.
  bool migrates = false;

  /// A compact form, for fibers that mostly wait, many of them: a connection's, a device's, a timer's. A worker's
  /// compact fibers take turns on a few stacks: frames of one that is parked are put aside as soon as another one needs
  /// their place, and are back at the same addresses before it goes on. So a parked fiber takes a kilobyte as a rule,
  /// instead of a page and its tables, and thousands stay in the caches. What it costs: each switch leads through the
  /// worker's loop and copies some hundred bytes, twice.
  /// The rule: nothing else may use an address on the stack of such a fiber while it is parked. Its own pointers to its
  /// own variables stay right. Sleeps, park() with a waker, and waits for a socket's next event may be used. Waits that
  /// lend a piece of the stack to others throw usage_error: futures, finish, waits with a stop token, files;
  /// fork_join runs its jobs in the fiber. What the program itself lends is checked under ThreadSanitizer and, with
  /// detect_stack_use_after_return=0, AddressSanitizer, where each has a stack of its own: if something was written
  /// there meanwhile, the process ends with a message. Not together with `migrates`.
  bool compact = false;

  /// What happens if the system gives no memory for a stack when the fiber is to start. False: the body is dropped, and
  /// run() throws the reason. True: the body is called all the same, on the worker's own stack, as a fiber that cannot
  /// wait: park(), yield() and every wait throw the reason. For a body whose end other fibers wait for: it calls
  /// this_fiber::require_stack() first, and hands them what that throws.
  bool even_without_stack = false;
};

/// Workers, which are threads, and the fibers that they run. A program makes one, spawns, and calls run().
class runtime {
 public:
  /// Starts nothing yet. \throws usage_error for a negative number of workers, or for stacks of more than
  /// context::stack_pool::largest; std::bad_alloc.
  explicit runtime(options wanted = {}, std::source_location where = std::source_location::current());

  /// Not while run() runs: neither in one of its fibers nor on another thread. A destructor cannot throw, so this
  /// breach of contract is written to stderr, and ends the process (std::abort), in every build.
  /// Fibers spawned and never run are dropped.
  ~runtime();
  runtime(const runtime&) = delete;
  runtime& operator=(const runtime&) = delete;

  /// Threads that run fibers, at least 1: run()'s caller is one of them.
  [[nodiscard]] int workers() const noexcept;

  /// Before run(). `source` is used until the runtime ends, or detach(), beside other pollers that are attached.
  /// \throws usage_error for a worker out of range, while run() runs, or if `source` has a descriptor and another
  /// poller
  ///         of that worker has one, too; shunt::error if the system has no descriptor left; std::bad_alloc.
  void attach(int worker, poller& source);

  /// Not inside run(). From now on `source` is not used. If it is not attached there, nothing happens.
  void detach(int worker, const poller& source) noexcept;

  /// Runs `root` as a fiber of worker 0, which is the calling thread, beside all that was spawned. Returns when root
  /// and every spawned fiber have ended. May be called again. The calling thread's affinity is the same afterwards.
  /// \throws what root or another fiber's body threw, or why a fiber got no stack (a shunt::error that names the limit
  /// to
  ///         raise). On the first such exception the run calls request_stop(); all other fibers run to their end; then
  ///         that exception is thrown here. Later ones are dropped.
  /// \throws usage_error inside a fiber or during another run(); shunt::error if the system starts no more threads: the
  ///         message names the limits, nothing has run, and what was spawned still waits for a run.
  void run(std::function<void()> root, std::source_location where = std::source_location::current());

  /// Makes a fiber that runs `body`, later. Any fiber; any thread before run(); any other thread, or a poller, while it
  /// knows that run() cannot return (a fiber waits for it, say). Fibers that were spawned for one worker start in
  /// order; the others start newest first, or where they are stolen.
  /// \return the new fiber's id; it may have ended by then.
  /// \throws usage_error for a worker out of range, a stack of more than context::stack_pool::largest, or a compact
  ///         fiber that migrates; std::bad_alloc. Cost: about 100 ns. The stack is taken when the fiber starts: see
  ///         run() and spawn_options::even_without_stack for what happens if there is none.
  fiber_id spawn(std::function<void()> body, spawn_options where = {},
                 std::source_location called_at = std::source_location::current());

  /// Any thread. Asks everything in the present run to end, once: through stop_token(), and with it every
  /// shunt::fiber's token. Waits that were given such a token end then; other waits go on. Outside of a run nothing
  /// happens.
  void request_stop() noexcept;

  /// Any thread. The present run's token; the next run has another one.
  [[nodiscard]] std::stop_token stop_token() const;

  /// Any thread, at any time. Before `worker` sleeps next it polls once more; if it sleeps, it wakes. What the caller
  /// wrote before is visible to that poll. \param worker  0..workers()-1 (contract).
  /// Cost: one exchange; a system call if the worker sleeps.
  void unpark(int worker) noexcept;

 private:
  struct parts;
  std::unique_ptr<parts> parts_;
};

namespace detail {
/// Any thread. \param what  of which the name is what the stack is for. \throws usage_error "what: a stack of ..." for
/// a stack of more than context::stack_pool::largest.
void check_stack(call_site what, std::size_t bytes);
/// The poller of that class among a worker's several; nullptr: none.
[[nodiscard]] poller* one_of(poller& several, const std::type_info& kind) noexcept;
}  // namespace detail

namespace this_worker {

/// Any thread. 0..workers()-1; -1 on a thread that is no worker.
[[nodiscard]] int index() noexcept;

/// Any thread. Whether a yield would let another fiber of this worker run. False on a thread that is no worker.
/// Cost: about 3 ns.
[[nodiscard]] bool has_runnable() noexcept;

/// Any thread. Whether a strategy decides what this worker does. False on a thread that is no worker.
[[nodiscard]] bool controlled() noexcept;

/// Legal anywhere. Lets the strategy decide what is not a fiber's turn: which of several queues goes first, whether a
/// message is lost. \param ways  at least 1. \return a number below `ways`; 0 where no strategy decides.
[[nodiscard]] std::size_t choose(std::size_t ways) noexcept;

/// The runtime that the calling thread works for. \param call  the function that the program called, for the error.
/// \throws usage_error on a thread that is no worker.
[[nodiscard]] runtime& current(call_site call = "current");

/// A fiber. Attaches `source` to the fiber's worker, for as long as the runtime lives. \throws what runtime::attach()
/// throws; usage_error outside a runtime. Cost: an allocation or two.
void attach(std::unique_ptr<poller> source);

/// A fiber. Attaches `source` to the fiber's worker, which uses it until detach(), by a fiber of the same worker, or
/// until the runtime ends. \throws what runtime::attach() throws; usage_error outside a runtime.
void attach(poller& source);

/// A fiber. Its worker does not use `source` from now on. If it is not attached there, nothing happens.
/// \throws usage_error outside a runtime
void detach(const poller& source);

/// Any thread. The poller of exactly this class that is attached to this worker; nullptr for none, or on a thread that
/// is no worker.
template <typename Poller>
[[nodiscard]] Poller* attached() noexcept {
  poller* const outside = detail::here().outside;
  if (outside == nullptr) return nullptr;
  if (typeid(*outside) == typeid(Poller)) [[likely]]
    return static_cast<Poller*>(outside);
  return static_cast<Poller*>(detail::one_of(*outside, typeid(Poller)));
}

/// Any thread. The mark of the poller of this worker that has one: poller::mark(). 0 for none, or on a thread that is
/// no worker.
[[nodiscard]] inline std::uint32_t mark() noexcept { return detail::here().mark; }

/// Sets, or with nullptr clears, what refuses waits on this worker. The running fiber must put the previous one back
/// before it ends. \return the previous one; nullptr for none, or on a thread that is no worker.
const no_wait* forbid_wait(const no_wait* by) noexcept;

}  // namespace this_worker
}  // namespace sched
}  // namespace v1
}  // namespace shunt
