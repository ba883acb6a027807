/// A worker's loop while a chooser decides: simpler than the usual one, for nothing here has to be fast, or fair.
#include <algorithm>
#include <chrono>
#include <mutex>
#include <string>

#include <shunt/base/error.hpp>
#include <shunt/sched/detail/watchman.hpp>
#include <shunt/sched/detail/worker.hpp>

namespace shunt {
inline namespace v1 {
namespace sched {
namespace detail {

constinit std::atomic<int> directed_runs{0};

std::chrono::steady_clock::time_point now_directed() noexcept {
  const worker* const here = worker::current();
  return here != nullptr && here->directed() != nullptr ? here->directed()->now : std::chrono::steady_clock::now();
}

void interleave_directed() noexcept {
  if (worker* const here = worker::current(); here != nullptr) here->interleave();
}

void worker::loop_directed() noexcept {
  auto& d = *directed_;
  for (;;) {
    gather();
    if (!d.ready.empty()) {
      run(choose());
    } else if (!timers_.empty()) {
      d.now = std::max(d.now, timers_.first());
    } else if (crew_.all_ended()) {
      crew_.stop();
      return;
    } else {
      if (outside == nullptr && !post_->mail.has_anything()) d.decides.stuck(why_stuck());
      sleep();
    }
  }
}

std::string worker::why_stuck() {
  std::string text = fibers_of(crew_);
  const std::scoped_lock held(crew_.failure_lock);
  if (crew_.failure) text = "an exception has left a fiber: " + what_of(crew_.failure) + '\n' + text;
  return text;
}

/// Whoever can go on stands in d.ready afterwards: who stopped at a point first, the others in the order in which they
/// came.
void worker::gather() noexcept {
  auto& d = *directed_;
  drain();
  if (outside != nullptr) outside->poll();
  expire();
  if (favoured != nullptr) d.ready.push_back(std::exchange(favoured, nullptr));
  while (!ready.empty()) d.ready.push_back(ready.pop());
  while (!roamers_.empty()) d.ready.push_back(roamers_.pop());
  while (!newcomers_.empty()) d.ready.push_back(newcomers_.pop());
  while (fiber* const task = tasks_.steal()) d.ready.push_back(task);
  if (!d.helper_waits && !jobs_.ring_.looks_empty_here()) {
    if (fiber* const helper = new_helper()) {
      d.helper_waits = true;
      d.ready.push_back(helper);
    }
  }
  if (d.stopped != nullptr) d.ready.insert(d.ready.begin(), d.stopped);
}

fiber* worker::choose() noexcept {
  auto& d = *directed_;
  d.asked.clear();
  for (fiber* const f : d.ready) d.asked.push_back(fiber::id_of(f));
  const bool goes_on = std::exchange(d.stopped, nullptr) != nullptr;
  const auto at = d.decides.choose({d.asked, goes_on});
  SHUNT_ASSERT(at < d.ready.size());
  fiber* const chosen = d.ready[at];
  d.ready.erase(d.ready.begin() + static_cast<std::ptrdiff_t>(at));
  d.now += std::chrono::microseconds(1);
  look_at_clock();
  return chosen;
}

}  // namespace detail
}  // namespace sched
}  // namespace v1
}  // namespace shunt
