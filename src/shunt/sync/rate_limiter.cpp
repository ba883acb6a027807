#include <shunt/sync/rate_limiter.hpp>

#include <algorithm>
#include <cmath>
#include <string>

#include <shunt/base/error.hpp>
#include <shunt/sched.hpp>
#include <shunt/sync/detail/sleep.hpp>

namespace shunt {
inline namespace v1 {
namespace sync {
namespace {

constexpr double ticks_a_second = 64e9;
constexpr double a_year = 366. * 24 * 3600 * ticks_a_second;

std::uint64_t checked(double per_second, std::uint64_t burst, call_site call) {
  if (!(per_second > 0 && per_second <= 1e9))
    throw usage_error(error_number(406),
                      "rate_limiter: " + std::to_string(per_second) +
                          " a second; more than 0 and at most 1e9 are possible" + call.place(),
                      call.where());
  if (burst == 0)
    throw usage_error(error_number(407), "rate_limiter: a burst of 0; it is at least 1" + call.place(), call.where());
  if (static_cast<double>(burst) * (ticks_a_second / per_second) > a_year)
    throw usage_error(error_number(408),
                      "rate_limiter: a burst of " + std::to_string(burst) + " takes more than a year at " +
                          std::to_string(per_second) + " a second" + call.place(),
                      call.where());
  return burst;
}

}  // namespace

rate_limiter::rate_limiter(double per_second, std::uint64_t burst, std::source_location where)
    : burst_(checked(per_second, burst, {"rate_limiter", where})),
      ticks_a_permit_(ticks_a_second / per_second),
      bucket_(std::llround(static_cast<double>(burst) * ticks_a_permit_)),
      begin_(sched::now()),
      full_(0) {}

/// Moves the time at which the bucket is full by what the permits take. They may be used when that time is no more than
/// a whole bucket away.
bool rate_limiter::take(clock::time_point latest, std::uint64_t permits, call_site call) {
  if (permits > burst_)
    throw usage_error(error_number(409),
                      std::string(call.name()) + ": " + std::to_string(permits) + " permits, of a burst of " +
                          std::to_string(burst_) + ": they never come" + call.place(),
                      call.where());
  sched::this_fiber::interleave();
  const auto cost = std::llround(static_cast<double>(permits) * ticks_a_permit_);
  const auto now = sched::now();
  const std::int64_t here = tick(now - begin_).count();
  clock::time_point usable;
  auto full = full_.load(std::memory_order_relaxed);  // relaxed: a number alone, which orders nothing
  std::int64_t after;
  do {
    after = std::max(full, here) + cost;
    const auto wait = tick(std::max<std::int64_t>(0, after - bucket_ - here));
    usable = now + std::chrono::ceil<clock::duration>(wait);
    if (usable > now && usable > latest) return false;
    if (usable > now) detail::require_sleep(call);
    // relaxed: as the load
  } while (!full_.compare_exchange_weak(full, after, std::memory_order_relaxed));
  if (usable > now) static_cast<void>(detail::sleep(usable, {}, "a rate limiter", call));
  return true;
}

void rate_limiter::acquire(std::uint64_t permits) {
  static_cast<void>(take(clock::time_point::max(), permits, "rate_limiter::acquire"));
}

bool rate_limiter::try_acquire(std::uint64_t permits) {
  return take(clock::time_point::min(), permits, "rate_limiter::try_acquire");
}

bool rate_limiter::try_acquire_until(clock::time_point deadline, std::uint64_t permits) {
  return take(deadline, permits, "rate_limiter::try_acquire_until");
}

bool rate_limiter::try_acquire_for(std::chrono::nanoseconds time, std::uint64_t permits) {
  return take(sched::after(time), permits, "rate_limiter::try_acquire_for");
}

}  // namespace sync
}  // namespace v1
}  // namespace shunt
