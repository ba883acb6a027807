#include <shunt/task/railway.hpp>

#include <array>
#include <thread>

#include <shunt/base/clock.hpp>
#include <shunt/base/topology.hpp>
#include <shunt/sched/futex.hpp>
#include <shunt/task/fiber.hpp>

namespace shunt {
inline namespace v1 {
namespace detail {

namespace {

using clock = std::chrono::steady_clock;
using rail::poll_result;

constexpr std::chrono::nanoseconds look_on_for{20'000};  // about what a sleep and a wake cost
constexpr int quick_looks = 64;                          // without a look at the clock
constexpr unsigned tries = 4;                            // in a row in vain: then it is only tried
constexpr unsigned tries_again = 16;                     // every so many waits
constexpr std::uint64_t few_trains = 16;                 // between two waits
constexpr int most_distance = 64;                        // in looks, some 2 us
constexpr std::size_t bytes_a_ns = 8;
constexpr std::size_t most_train_bytes = 16 * 1024;
constexpr std::size_t least_trains = 4;

constexpr std::size_t round_up(std::size_t n, std::size_t unit) { return (n + unit - 1) / unit * unit; }

/// Lets others of this worker run, or this core wait a little. \return whether others may have run.
bool pass_the_time(bool fiber) {
  if (fiber && sched::this_worker::has_runnable()) {
    sched::this_fiber::yield();
    return true;
  }
  relax();
  return false;
}

}  // namespace

poll_result stand::await(moment deadline, const std::stop_token& stop) {
  count_wait();
  poll_result seen = at_.poll();
  if (seen != poll_result::nothing) return seen;
  if (profile_ != wait_profile::latency) seen = spin(deadline, stop);  // it has looked on already
  return seen == poll_result::nothing ? sleep(deadline, stop) : seen;
}

/// Who is faster than the other side would follow so close that every cache line goes to and fro while it is written.
/// So where waits are short and few trains come between, some time is let go by before the next look: then there are
/// more. Source: Giacomoni, Moseley, Vachharajani, FastForward, PPoPP 2008, doi:10.1145/1345206.1345215 (temporal
/// slipping).
void stand::keep_distance(bool fiber) {
  const auto now = at_.departed();
  const bool close = std::exchange(last_, now) + few_trains > now && in_vain_ == 0;
  distance_ = close ? std::min(2 * distance_ + 1, most_distance) : distance_ / 2;
  for (int i = 0; i != distance_; ++i) {
    if (pass_the_time(fiber)) return;
  }
}

poll_result stand::spin(moment deadline, const std::stop_token& stop) {
  const bool fiber = sched::this_fiber::inside();
  keep_distance(fiber);
  for (int i = 0; i != quick_looks; ++i) {
    static_cast<void>(pass_the_time(fiber));
    if (at_.has_train()) return poll_result::train;
  }
  if (profile_ == wait_profile::battery) return at_.poll();
  if (in_vain_ >= tries && in_vain_ % tries_again != 0) {
    ++in_vain_;
    return at_.poll();
  }
  const auto began = clock::now();
  auto now = began;
  poll_result seen = at_.poll();
  for (unsigned rounds = 1; seen == poll_result::nothing && now < deadline && !stop.stop_requested(); ++rounds) {
    if (now - began >= look_on_for) break;
    for (int i = 0; i != looks_a_round; ++i) {
      static_cast<void>(pass_the_time(fiber));
      if (at_.has_train()) {
        in_vain_ = 0;
        return poll_result::train;
      }
    }
    if (fiber && rounds % 4 == 0) sched::this_fiber::yield();  // the worker's poller, timers and wakes have their turn
    seen = at_.poll();
    now = clock::now();
  }
  in_vain_ = seen == poll_result::nothing ? in_vain_ + 1 : 0;
  return seen;
}

bool stand::goes_on(unsigned round, moment deadline, const std::stop_token& stop) {
  const bool fiber = sched::this_fiber::inside();
  if (fiber && round % 4 == 3) {
    sched::this_fiber::yield();  // the worker's poller, timers and wakes have their turn
  } else {
    static_cast<void>(pass_the_time(fiber));
  }
  if (round == 0) return true;
  const auto seen = at_.poll();
  if (seen != poll_result::nothing) return seen == poll_result::train;
  return !stop.stop_requested() && (deadline == moment::max() || clock::now() < deadline);
}

poll_result stand::sleep(moment deadline, const std::stop_token& stop) {
  const bool fiber = sched::this_fiber::inside();
  // Before all that may wake this station: watch() publishes it to stations that depart, and registering the callback
  // to the thread that requests the stop. Stored after that, it would race with the request: this fiber might miss the
  // request, and the request this fiber. release: edge `sleeper` out.
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
      static_cast<void>(sched::this_fiber::rest_until(deadline, "a train"));
    } else {
      const bool for_ever = deadline == moment::max();
      sched::futex_wait(token_, token, for_ever ? std::chrono::nanoseconds::max() : deadline - clock::now());
    }
    // Before it watches again, which takes a fence of some 10 us: mostly what it was woken for is here.
    seen = at_.poll();
    if (seen != poll_result::nothing) break;
  }
  at_.finish_wait();
  if (slept)
    sleeps_.store(sleeps_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);  // relaxed: one writer
  return seen;
}

void stand::wake() noexcept {
  // acquire: edge `sleeper` in, for a wake that comes late, and meets another fiber than it was meant for.
  if (const auto who = fiber_.load(std::memory_order_acquire)) {
    who.wake();
  } else {
    token_.fetch_add(1, std::memory_order_release);  // edge `token` out: what was done before the wake
    sched::futex_wake(token_);
  }
}

train_shape shape_of(const railway_options& wanted, std::size_t good_bytes, std::size_t good_alignment) {
  train_shape s{};
  const std::size_t stamp = wanted.stamp_every != 0 ? sizeof(std::int64_t) : 0;
  s.capacity = wanted.capacity;
  s.signs = s.capacity != 1 || good_bytes > sizeof(rail::train_ring::header) || stamp != 0 ||
            wanted.wait == wait_profile::latency;
  s.goods_offset = s.signs ? round_up(sizeof(rail::train_ring::header) + stamp, good_alignment) : 0;
  if (s.capacity == 0) {
    const auto wish = static_cast<std::size_t>(std::max<std::int64_t>(wanted.latency.count(), 0)) * bytes_a_ns;
    const auto bytes = std::clamp(wish, cache_line, most_train_bytes);
    s.capacity = bytes > s.goods_offset + good_bytes ? (bytes - s.goods_offset) / good_bytes : 1;
  }
  if (s.capacity > rail::train_ring::most_goods) {
    throw usage_error("railway: a capacity of " + std::to_string(s.capacity) + " goods: at most " +
                      std::to_string(rail::train_ring::most_goods));
  }
  const auto least = s.signs ? std::max(good_alignment, alignof(rail::train_ring::header)) : good_alignment;
  s.train_bytes = round_up(s.goods_offset + s.capacity * good_bytes, least);
  // Small ones share a cache line; none begins amid another one's lines otherwise.
  if (s.train_bytes > cache_line / 2) s.train_bytes = round_up(s.train_bytes, cache_line);
  s.alignment = std::max(least, quiet_distance);
  if (good_alignment > cache_line) s.train_bytes = round_up(s.train_bytes, good_alignment);
  s.trains = wanted.trains != 0 ? wanted.trains : std::max(least_trains, wanted.bytes / s.train_bytes);
  if (s.trains < 2)
    throw usage_error("railway: one train: a source and a station would wait for each other; at least 2");
  return s;
}

void run_stations(const std::vector<std::function<void()>>& bodies, const std::vector<std::string_view>& names,
                  int workers) {
  if (!sched::this_fiber::inside()) {
    sched::runtime own({.workers = workers});
    return own.run([&] { run_stations(bodies, names, workers); });
  }
  auto& here = sched::this_worker::current();
  const auto use = static_cast<std::size_t>(workers > 0 ? std::min(workers, here.workers()) : here.workers());
  finish_scope all("railway::run");
  for (std::size_t i = 0; i != bodies.size(); ++i) {
    const auto worker = static_cast<int>(i * use / bodies.size());
    const auto work = [&all, &body = bodies[i]] {
      try {
        if (sched::this_fiber::may_wait()) {
          finish([&body] { body(); });
        } else {
          body();  // no stack: serve() makes that the station's failure, so that none waits for it
        }
      } catch (...) {
        all.fail(std::current_exception());
      }
      all.leave();
    };
    all.enter();
    try {
      here.spawn(work, {.worker = worker, .name = std::string(names[i]), .even_without_stack = true});
    } catch (...) {
      all.fail(std::current_exception());
      all.leave();
      break;
    }
  }
  all.wait();
  all.rethrow();
}

void throw_not_of_this_line(std::string_view call) {
  throw usage_error("railway::after: " + (call.empty()
                                              ? std::string("no station is named to come after")
                                              : "`" + std::string(call) + "` is named twice, or is another railway's"));
}

void throw_cannot_be_empty() {
  throw usage_error(
      "railway: resize(0) with trains of one good: only with a capacity of 2 and more a train can be empty");
}

}  // namespace detail
}  // namespace v1
}  // namespace shunt
