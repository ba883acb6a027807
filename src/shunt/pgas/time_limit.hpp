/// How long a PE waits for the others.
#pragma once

#include <chrono>
#include <stop_token>
#include <utility>

#include <shunt/pgas/detail/pe_worker.hpp>
#include <shunt/pgas/pe.hpp>

namespace shunt {
inline namespace v1 {
namespace pgas {

/// While it lives, it bounds all waits of the PE's program: finish(), quiesce(), fetch(), collectives, constructions of
/// selectors, and sends that wait for a train.
///
/// ```cpp
/// {
///   const pgas::time_limit limit(me, std::chrono::seconds(30), stop);
///   updates.finish();  // over within 30 s, or the job ends and says so
/// }
/// ```
///
/// A call that is not over when the time has passed, or when a stop is requested, throws, and the job ends with its
/// message: a PE that leaves a call of all PEs leaves the others in it. A call that would return at once returns.
/// Several limits of a PE hold together. Tasks of the PE are not bound, nor is the future of ending(): that is bounded
/// by its own wait_for(), or by finish().
class time_limit {
 public:
  /// Local. The program of `me`. \param time  from now on
  time_limit(pe& me, std::chrono::nanoseconds time, std::stop_token stop = {})
      : worker_(me.home()),
        limit_{sched::this_fiber::id(), me.index(), time, sched::after(time), std::move(stop), nullptr},
        wakes_(limit_.stop, wake{sched::this_fiber::self()}) {
    worker_.refuse_in_task(me.index(), "time_limit");
    worker_.add(limit_);
  }
  /// Without a limit of time.
  time_limit(pe& me, std::stop_token stop) : time_limit(me, std::chrono::nanoseconds::max(), std::move(stop)) {}
  ~time_limit() { worker_.remove(limit_); }
  time_limit(const time_limit&) = delete;
  time_limit& operator=(const time_limit&) = delete;

 private:
  /// The fiber may be parked when the stop is requested.
  struct wake {
    sched::waker fiber;
    void operator()() const noexcept { fiber.wake(); }
  };

  detail::pe_worker& worker_;
  detail::wait_limit limit_;
  std::stop_callback<wake> wakes_;
};

}  // namespace pgas
}  // namespace v1
}  // namespace shunt
