/// One wait for the first of several channels that is ready.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <utility>

#include <shunt/base/call_site.hpp>
#include <shunt/base/clock.hpp>
#include <shunt/sched/fiber.hpp>
#include <shunt/sched/waiter.hpp>
#include <shunt/sync/detail/passage.hpp>
#include <shunt/sync/detail/wait_queue.hpp>

namespace shunt {
inline namespace v1 {
namespace sync {
namespace detail {

/// What ends a wait beside the cases, and the names it has in errors and reports.
struct wait_limits {
  const std::stop_token& stop;
  std::chrono::steady_clock::time_point deadline;
  const char* what;
  call_site call;
};

/// How a wait ended: the index of the case that was done, or one of these.
inline constexpr int wait_timed_out = -1;
inline constexpr int wait_stopped = -2;

/// Where a look at so many cases begins: each place with the same chance, or where a strategy says.
[[nodiscard]] int first_of(int cases) noexcept;

/// Does the first case that can be done now. \return its index, or wait_timed_out: none can.
template <class... Cases>
int attempt_any(Cases&... cases) {
  static_assert(sizeof...(Cases) > 0, "a select needs a case: on_receive() or on_send()");
  const int start = sizeof...(Cases) == 1 ? 0 : first_of(sizeof...(Cases));
  int done = wait_timed_out;
  const auto attempt_from = [&](int from, int to) {
    int i = 0;
    const auto one = [&](auto& each) {
      if (done < 0 && i >= from && i < to && each.attempt()) done = i;
      ++i;
    };
    (one(cases), ...);
  };
  attempt_from(start, sizeof...(Cases));
  attempt_from(0, start);
  return done;
}

/// The watchers of one wait. They go before it does; so does the callback of the stop token.
template <std::size_t N>
class watchers_of_wait {
 public:
  watchers_of_wait() {
    for (watcher& each : all_) each.waiter = &me_;
  }
  watchers_of_wait(const watchers_of_wait&) = delete;
  watchers_of_wait& operator=(const watchers_of_wait&) = delete;

  /// Watches for all cases. \return false: one can be done already, so there is nothing to wait for.
  template <class... Cases>
  bool watch(Cases&... cases) {
    return ((all_[queued_].queued = false, cases.watch(all_[queued_]) && ++queued_ > 0) && ...);
  }
  /// \return false: the deadline passed first. \throws as sched::waiter::wait_until().
  bool wait(const wait_limits& until) {
    if (!until.stop.stop_possible()) return sleep_until(me_, until.deadline, until.what, until.call);
    const sched::this_fiber::stay here;  // a stop_callback belongs to its thread
    const std::stop_callback on_stop(until.stop, [this] { me_.wake(); });
    return sleep_until(me_, until.deadline, until.what, until.call);
  }
  /// Watches no more. A case other than `done` that was woken passes its wake on, if it has work for another waiter.
  template <class... Cases>
  void unwatch(Cases&... cases) {
    std::size_t i = 0;
    ((woken_[i] = i < queued_ && !cases.unwatch(all_[i]), ++i), ...);
  }
  template <class... Cases>
  void pass_on(int done, Cases&... cases) {
    int i = 0;
    const auto one = [&](auto& each) {
      if (woken_[static_cast<std::size_t>(i)] && i != done) each.pass_on();
      ++i;
    };
    (one(cases), ...);
  }

 private:
  sched::waiter me_;
  std::array<watcher, N> all_{};
  std::array<bool, N> woken_{};
  std::size_t queued_ = 0;
};

/// Whether the wait is at its end already.
[[nodiscard]] inline bool over(const wait_limits& until) noexcept {
  return until.stop.stop_requested() || (until.deadline != never && until.deadline <= sched::now());
}

/// Lets other fibers of this worker run; if there are none, pauses so often.
void let_others_work(int pauses);

/// A few looks before the wait: other fibers of this worker run meanwhile, or the other end's thread does its work.
/// One look if the wait is over already: a fiber that polls so, in a loop, does not keep its worker from the others.
/// The first look comes as soon as the most eager case wants it, each further one later than the one before.
template <class... Cases>
int attempt_for_a_while(const wait_limits& until, Cases&... cases) {
  constexpr int looks = 8;
  int done = wait_timed_out;
  for (int look = 0; look < looks && done < 0; ++look) {
    let_others_work(look == 0 ? std::max(1, std::min({cases.pauses()...})) : 1 << look);
    done = attempt_any(cases...);
    if (over(until)) break;
  }
  return done;
}

/// Does one of the cases, and waits for that; the caller has tried all of them. \return its index, wait_timed_out or
/// wait_stopped.
///
/// A case has attempt(), which does it if it can be done now; watch() and unwatch(), which wait for that; and
/// pass_on(), for a wake that this waiter does not use.
/// \throws what sched::this_fiber::park() throws; what attempt() throws; std::bad_alloc for a deadline.
template <class... Cases>
int wait_for_any(const wait_limits& until, Cases&... cases) {
  require_wait(until.call);
  int done = attempt_for_a_while(until, cases...);
  while (done < 0) {
    if (over(until)) return until.stop.stop_requested() ? wait_stopped : wait_timed_out;
    watchers_of_wait<sizeof...(Cases)> watching;
    try {
      if (watching.watch(cases...)) static_cast<void>(watching.wait(until));
    } catch (...) {
      watching.unwatch(cases...);
      watching.pass_on(wait_timed_out, cases...);
      throw;
    }
    watching.unwatch(cases...);
    done = attempt_any(cases...);
    watching.pass_on(done, cases...);
  }
  return done;
}

}  // namespace detail
}  // namespace sync
}  // namespace v1
}  // namespace shunt
