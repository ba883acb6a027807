#include <shunt/sync/ticker.hpp>

#include <string>

#include <shunt/base/error.hpp>
#include <shunt/sched.hpp>
#include <shunt/sync/detail/sleep.hpp>

namespace shunt {
inline namespace v1 {
namespace sync {
namespace {

std::chrono::nanoseconds checked(std::chrono::nanoseconds period) {
  if (period <= period.zero())
    throw usage_error(error_number(405),
                      "ticker: a period of " + std::to_string(period.count()) + " ns; it must be more than 0");
  return period;
}

}  // namespace

ticker::ticker(std::chrono::nanoseconds period) : ticker(period, sched::now()) {}

ticker::ticker(std::chrono::nanoseconds period, clock::time_point begin)
    : period_(checked(period)), due_(begin + period_) {}

std::uint64_t ticker::next(const std::stop_token& stop) {
  if (stop.stop_requested()) return 0;
  if (const auto before = passed(); before != 0) return before;
  if (!detail::sleep(due_, stop, "a tick", "ticker::next")) return 0;
  return passed();
}

std::uint64_t ticker::passed() noexcept {
  const auto late = sched::now() - due_;
  if (late < late.zero()) return 0;
  const auto ticks = late / period_ + 1;
  due_ += ticks * period_;
  return static_cast<std::uint64_t>(ticks);
}

void ticker::restart(std::chrono::nanoseconds period) {
  period_ = checked(period);
  due_ = sched::now() + period_;
}

}  // namespace sync
}  // namespace v1
}  // namespace shunt
