#include <shunt/task/detail/station_base.hpp>

#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

#include <shunt/base/futex.hpp>

namespace shunt {
inline namespace v1 {
namespace task {
namespace detail {

namespace {

using clock = std::chrono::steady_clock;
using rail::poll_result;

constexpr std::chrono::nanoseconds spin_for{20'000};  // about the cost of a sleep and a wake
constexpr int quick_polls = 64;                       // before the first look at the clock
constexpr unsigned tries = 4;         // spins in vain in a row, after which most waits leave spinning out
constexpr unsigned tries_again = 16;  // one wait in this number then spins
constexpr int max_distance = 64;      // in polls, some 2 us

/// Lets others of this worker run, or pauses this core for a moment. \return whether others may have run.
bool let_pass(bool fiber) {
  if (fiber && sched::this_worker::has_runnable()) {
    sched::this_fiber::yield();
    return true;
  }
  relax();
  return false;
}

// All stations of the process; for reports.
std::mutex& stations_lock() noexcept {
  static std::mutex lock;
  return lock;
}
station_base* first_station = nullptr;  // under the lock

constexpr std::size_t most_sources_told = 5;

/// While it lives, the flag is set.
class flagged {
 public:
  explicit flagged(std::atomic<bool>& flag) noexcept : flag_(flag) {
    flag_.store(true, std::memory_order_relaxed);  // relaxed: for a report, which may be late
  }
  ~flagged() { flag_.store(false, std::memory_order_relaxed); }  // relaxed: likewise
  flagged(const flagged&) = delete;
  flagged& operator=(const flagged&) = delete;

 private:
  std::atomic<bool>& flag_;
};

}  // namespace

// --- for reports ---

void station_base::enlist() {
  static const bool once = (sched::detail::add_note_source(&note_sources), true);
  static_cast<void>(once);
  const std::scoped_lock held(stations_lock());
  next_ = first_station;
  if (next_ != nullptr) next_->previous_ = this;
  first_station = this;
}

void station_base::delist() noexcept {
  const std::scoped_lock held(stations_lock());
  (previous_ == nullptr ? first_station : previous_->next_) = next_;
  if (next_ != nullptr) next_->previous_ = previous_;
}

/// Of each station that sleeps: a station without an open source before it waits for the station in front of it, which
/// has a line of its own.
void station_base::note_sources(sched::detail::wait_notes& to) {
  const std::scoped_lock held(stations_lock());
  for (const station_base* each = first_station; each != nullptr; each = each->next_) {
    if (!each->asleep_.load(std::memory_order_relaxed)) continue;  // relaxed: as of a moment
    // relaxed: nothing is read through it
    const auto* const fiber = sched::detail::fiber::behind(each->fiber_.load(std::memory_order_relaxed));
    if (auto text = each->open_sources(); !text.empty()) to[fiber] = std::move(text);
  }
}

/// Under the lock: a railway's stations go before its sources.
std::string station_base::open_sources() const {
  std::vector<const rail::waker*> open;
  at_.append_open_sources(open);
  if (open.empty()) return {};
  std::string text = open.size() == 1 ? ", as source " : ", as sources ";
  for (std::size_t i = 0; i != std::min(open.size(), most_sources_told); ++i) {
    const auto name = static_cast<const station_base*>(open[i])->name();
    text += (i == 0 ? "" : ", ") + (name.empty() ? std::string("without a name") : '`' + std::string(name) + '`');
  }
  if (open.size() > most_sources_told) text += " and " + std::to_string(open.size() - most_sources_told) + " more";
  return text + (open.size() == 1 ? " has not closed" : " have not closed");
}

// --- waiting ---

/// A wait whose time has passed is none.
void station_base::require_wait(time_point deadline, const std::stop_token& stop, call_site call) {
  if (!sched::this_fiber::inside() || (deadline != never && deadline <= clock::now())) return;
  sched::this_fiber::require_wait(call);
  if (stop.stop_possible()) sched::this_fiber::lend_frame(call);
}

poll_result station_base::await(time_point deadline, const std::stop_token& stop, call_site call) {
  count_wait();
  poll_result seen = at_.poll();
  if (seen != poll_result::nothing) return seen;
  require_wait(deadline, stop, call);
  if (profile_ != wait_profile::latency) seen = spin(deadline, stop);  // for latency poll_on() has polled already
  return seen == poll_result::nothing ? sleep(deadline, stop) : seen;
}

/// A station that is faster than the other side would follow it so closely that every cache line goes to and fro while
/// it is written. So where waits are short and few trains come between them, the station lets some time pass before the
/// next poll, and finds more trains then. All trains that a source has are not few: they cannot become more. Source:
/// Giacomoni, Moseley, Vachharajani, FastForward, PPoPP 2008, doi:10.1145/1345206.1345215 (temporal slipping).
void station_base::keep_distance(bool fiber) {
  const auto now = at_.departed();
  const bool close = std::exchange(last_, now) + few_trains_ > now && spins_in_vain_ == 0;
  distance_ = close ? std::min(2 * distance_ + 1, max_distance) : distance_ / 2;
  for (int i = 0; i != distance_; ++i) {
    if (let_pass(fiber)) return;
  }
}

/// Polls quickly a few times, then in rounds for up to `spin_for`. After several spins in vain only every 16th wait
/// goes beyond the quick polls. Between rounds it looks at ends and the clock, and yields in every fourth, so that the
/// worker's poller, timers and wakes have their turn.
poll_result station_base::spin(time_point deadline, const std::stop_token& stop) {
  const bool fiber = sched::this_fiber::inside();
  keep_distance(fiber);
  for (int i = 0; i != quick_polls; ++i) {
    static_cast<void>(let_pass(fiber));
    if (at_.has_train()) return poll_result::train;
  }
  if (profile_ == wait_profile::battery) return at_.poll();
  if (spins_in_vain_ >= tries && spins_in_vain_ % tries_again != 0) {
    ++spins_in_vain_;
    return at_.poll();
  }
  const auto began = clock::now();
  auto now = began;
  poll_result seen = at_.poll();
  for (unsigned rounds = 1; seen == poll_result::nothing && now < deadline && !stop.stop_requested(); ++rounds) {
    if (now - began >= spin_for) break;
    for (int i = 0; i != polls_per_round; ++i) {
      static_cast<void>(let_pass(fiber));
      if (at_.has_train()) {
        spins_in_vain_ = 0;
        return poll_result::train;
      }
    }
    if (fiber && rounds % 4 == 0) sched::this_fiber::yield();
    seen = at_.poll();
    now = clock::now();
  }
  spins_in_vain_ = seen == poll_result::nothing ? spins_in_vain_ + 1 : 0;
  return seen;
}

bool station_base::may_poll_on(unsigned round, time_point deadline, const std::stop_token& stop) {
  const bool fiber = sched::this_fiber::inside();
  if (fiber && round % 4 == 3) {
    sched::this_fiber::yield();  // the worker's poller, timers and wakes have their turn
  } else {
    static_cast<void>(let_pass(fiber));
  }
  if (round == 0) return true;
  const auto seen = at_.poll();
  if (seen != poll_result::nothing) return seen == poll_result::train;
  return !stop.stop_requested() && (deadline == never || clock::now() < deadline);
}

/// Publishes the sleeper, then in turn: prepares to wait, polls once more, sleeps. The fiber is stored before anything
/// that may wake this station: prepare_to_wait() publishes it to stations that depart, and the callback's registration
/// to the thread that requests the stop. Stored later, it would race with the request: this fiber might miss the
/// request, and the request this fiber.
poll_result station_base::sleep(time_point deadline, const std::stop_token& stop) {
  const bool fiber = sched::this_fiber::inside();
  // release: edge `sleeper` out
  fiber_.store(fiber ? sched::this_fiber::self() : sched::waker(), std::memory_order_release);
  const std::stop_callback on_stop(stop, [this] { wake(); });
  bool slept = false;
  poll_result seen;
  for (;;) {
    const auto token = token_.load(std::memory_order_acquire);  // edge `token` in
    at_.prepare_to_wait();
    seen = at_.poll();
    if (seen != poll_result::nothing || stop.stop_requested() || clock::now() >= deadline) break;
    slept = true;
    if (fiber) {
      const flagged sleeps(asleep_);
      static_cast<void>(sched::this_fiber::rest_until(deadline, "a train"));
    } else {
      futex_wait(token_, token, deadline == never ? std::chrono::nanoseconds::max() : deadline - clock::now());
    }
    // Before it prepares again, which takes a fence of some 10 us: mostly the train that woke it is here.
    seen = at_.poll();
    if (seen != poll_result::nothing) break;
  }
  at_.finish_wait();
  if (slept) {
    sleeps_.store(sleeps_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);  // relaxed: one writer
  }
  return seen;
}

void station_base::wake() noexcept {
  // acquire: edge `sleeper` in, for a late wake, which may meet another fiber than the one it was meant for
  if (const auto fiber = fiber_.load(std::memory_order_acquire)) {
    fiber.wake();
  } else {
    token_.fetch_add(1, std::memory_order_release);  // edge `token` out
    futex_wake(token_);
  }
}

}  // namespace detail
}  // namespace task
}  // namespace v1
}  // namespace shunt
