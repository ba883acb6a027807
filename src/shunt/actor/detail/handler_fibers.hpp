/// The handler fibers of one dispatcher: which one runs, which are ready, which are idle.
///
///   handler fiber   becomes
///   idle            ready, when there is work and no other one runs or is ready
///   ready           running; until then counted in ready_
///   running         ready, after a batch. A running one whose handler waits loses its place to the next. Without work
///                   for some turns it becomes idle, or ends
///
/// Invariants
///   handler_fibers.S1  running_ is the handler fiber that ran last, unless it became idle. While running_ is set, one
///       of three things holds: that handler fiber runs; another one is ready; or a fiber inside let_handlers_run() is
///       ready and will call one.
///   handler_fibers.S2  With no handler fiber running or ready, the inbox is armed: what arrives wakes the wakeup
///       fiber, which never runs handlers, and it calls a handler fiber.
///
/// The owner's thread only.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <exception>

#include <shunt/actor/detail/handler_fiber.hpp>
#include <shunt/sched.hpp>

namespace shunt {
inline namespace v1 {
namespace actor::detail {

class dispatcher;

/// What other threads read of a dispatcher that may sleep.
struct wakeup_state {
  std::atomic<bool> armed{false};  // no handler fiber is awake
  sched::waker fiber;              // the wakeup fiber; written before any other thread knows the dispatcher
};

class handler_fibers {
 public:
  static constexpr std::size_t most_idle = 16;  // more of them end

  handler_fibers(dispatcher& of, int dispatchers);
  handler_fibers(const handler_fibers&) = delete;
  handler_fibers& operator=(const handler_fibers&) = delete;

  /// Whether `f` is the one that ran last: if not, its handler has waited, and another one has gone on.
  [[nodiscard]] bool is_running(const handler_fiber& f) const noexcept { return running_ == &f; }
  /// There is work: a handler fiber must run.
  void wake() noexcept {
    if (running_ == nullptr && ready_ == 0) [[unlikely]]
      call();
  }
  /// Code that may wait is about to be called: another handler fiber must be ready. handler_fibers.S1
  void stand_by() noexcept {
    if (ready_ == 0 && waiting_for_turn_ == 0) call();
  }
  /// A fiber of this worker, which waits for an answer from here: lets a handler fiber run, by a yield.
  /// \throws what yield() throws.
  void let_run();

  /// The dispatcher's first call: makes the wakeup fiber, which reports to the actor system that all has begun.
  void begin() noexcept;
  /// All end, as soon as they have nothing to do.
  void end() noexcept;
  /// Another fiber of this dispatcher, which must end before the dispatcher does.
  void fiber_begun() noexcept { ++fibers_; }
  void fiber_left() noexcept;

 private:
  void call() noexcept;
  void spawn_one();
  void run_one();
  void run_one_without_stack(handler_fiber& me);
  void begin_turn(handler_fiber& me) noexcept;
  [[nodiscard]] bool rest() noexcept;
  [[nodiscard]] bool look_around() noexcept;
  void run_wakeup_fiber();
  void could_not_begin(const std::exception_ptr& why) noexcept;

  // Read for each turn or batch: these stay first.
  handler_fiber* running_ = nullptr;  // handler_fibers.S1
  int ready_ = 0;                     // handler fibers that are ready, or will be
  int waiting_for_turn_ = 0;          // fibers in let_run()

  dispatcher& of_;
  handler_fiber* idle_ = nullptr;
  std::size_t idle_count_ = 0;
  int fibers_ = 0;  // all of this dispatcher
  int looks_;       // at the inbox, before a rest
  bool may_spin_;
  bool over_ = false;
  std::chrono::steady_clock::time_point rested_{};  // when the last rest began
};

}  // namespace actor::detail
}  // namespace v1
}  // namespace shunt
