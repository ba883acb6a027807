/// How the program of a PE waits: its worker makes progress meanwhile, and other fibers run.
///
/// Waiting unloads, unloading sends, and sending may wait. So that nothing includes what it is called by, the parts of
/// a worker are handed this class; the worker implements it.
#pragma once

#include <chrono>
#include <exception>
#include <stop_token>
#include <utility>

#include <shunt/pgas/detail/arrival.hpp>
#include <shunt/pgas/detail/event.hpp>
#include <shunt/pgas/detail/job_link.hpp>

namespace shunt {
inline namespace v1 {
namespace pgas {
namespace detail {

/// What bounds the waits of one fiber (pgas::time_limit).
struct wait_limit {
  sched::fiber_id fiber;
  int pe = 0;
  std::chrono::nanoseconds time{};  // for messages to people
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();
  std::stop_token stop;
  wait_limit* next = nullptr;
};

class waiting {
 public:
  waiting(const running_handler& handlers, job_link& job) noexcept : handlers_(handlers), job_(job) {}

  /// Makes progress until ready() is true. The calling PE's fiber parks on `changed` meanwhile if others can run.
  /// \param call  the function that the program called, for errors and reports; static text
  /// \throws error when a handler calls, or when a limit of the calling fiber is reached, which ends the job; job_over
  ///         when the job has failed
  template <class Ready>
  void until(event& changed, const char* call, Ready ready) {
    refuse_in_handler(call);
    const sched::this_fiber::stay on_this_worker;  // what it waits for is this worker's
    // Another fiber may run just before ready() is asked, and never between that and the park.
    bool begins = true;
    for (int idle = 0; !ready(); sched::this_fiber::interleave()) {
      leave_if_failed();
      if (std::exchange(begins, false)) begin_wait(changed);
      auto deadline = std::chrono::steady_clock::time_point::max();
      if (limits_ != nullptr) [[unlikely]]
        deadline = keep_limits(call);
      if (progress()) {
        idle = 0;
      } else if (idle_step(idle)) {
        if (!leaving()) changed.wait(call, deadline);  // after a failure no event is notified any more
        idle = 0;
      }
    }
  }
  /// The same for what only arrivals change.
  template <class Ready>
  void until(const char* call, Ready ready) {
    until(activity_, call, ready);
  }

  /// Takes what has arrived and unloads it. \return whether anything was done; never inside a handler.
  virtual bool progress() = 0;
  /// \throws job_over when the job has failed, unless an exception is passing.
  void leave_if_failed() const {
    if (job_.failed() && std::uncaught_exceptions() == 0) throw job_over{};
  }
  /// From now on the limit holds for its fiber's waits, until remove().
  void add(wait_limit& l) noexcept { l.next = std::exchange(limits_, &l); }
  void remove(const wait_limit& l) noexcept {
    wait_limit** at = &limits_;
    while (*at != &l) at = &(*at)->next;
    *at = l.next;
  }
  /// \throws error when a handler calls.
  void refuse_in_handler(const char* call) const { handlers_.refuse_wait(call); }
  /// Something has changed that arrivals do not change: those that wait for arrivals look again.
  void look_again() { activity_.notify_all(); }
  /// The job has failed: programs are on their way out.
  [[nodiscard]] bool leaving() const noexcept { return job_.failed(); }

 protected:
  ~waiting() = default;
  /// A wait begins: what others need for their answers leaves before this worker looks for them.
  virtual void begin_wait(const event& changed) = 0;
  /// There is nothing to do. \param idle  such steps in a row; the callee counts. \return whether to park.
  virtual bool idle_step(int& idle) = 0;

  event activity_;  // progress() did something

 private:
  /// \return the calling fiber's deadline. \throws error when it has passed, or a stop is requested: the job fails.
  [[gnu::cold]] std::chrono::steady_clock::time_point keep_limits(const char* call);

  const running_handler& handlers_;
  job_link& job_;
  wait_limit* limits_ = nullptr;  // of all fibers of the worker
};

}  // namespace detail
}  // namespace pgas
}  // namespace v1
}  // namespace shunt
