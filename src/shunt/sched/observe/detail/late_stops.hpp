/// Which waits for fibers that were asked to stop a run has, and which of them are to be reported.
#pragma once

#include <chrono>
#include <mutex>
#include <vector>

#include <shunt/base/call_site.hpp>
#include <shunt/sched/observe/detail/dump_text.hpp>
#include <shunt/sched/observe/late_stop.hpp>

namespace shunt {
inline namespace v1 {
namespace sched {
namespace detail {

/// The list of one runtime. Any thread.
class late_stops {
 public:
  /// What a report is about.
  struct overdue {
    call_site call;
    fiber_filter which;
  };

  void add(late_stop& wait) noexcept;
  void remove(late_stop& wait) noexcept;
  /// When the next one is to be reported; max(): none.
  [[nodiscard]] std::chrono::steady_clock::time_point next() noexcept;
  /// Those whose time has come; they will not be returned again. \throws std::bad_alloc
  [[nodiscard]] std::vector<overdue> take(std::chrono::steady_clock::time_point now);

 private:
  std::mutex lock_;  // guards the list, and `when_` of all in it
  late_stop* first_ = nullptr;
};

/// The monitor: reports each of `of` that has lasted for too long, by one look at all fibers. The caller holds the
/// registry's lock. \throws std::bad_alloc
void tell_late_stops(shared& of);

}  // namespace detail
}  // namespace sched
}  // namespace v1
}  // namespace shunt
