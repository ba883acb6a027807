#include <shunt/sync/ticker.hpp>

#include <string>

#include <shunt/base/call_site.hpp>
#include <shunt/base/error.hpp>
#include <shunt/sched.hpp>
#include <shunt/sync/detail/sleep.hpp>

namespace shunt {
inline namespace v1 {
namespace sync {
namespace {

std::chrono::nanoseconds checked(std::chrono::nanoseconds period, call_site call) {
  if (period <= period.zero())
    throw usage_error(
        error_number(405),
        "ticker: a period of " + std::to_string(period.count()) + " ns; it must be more than 0" + call.place(),
        call.where());
  return period;
}

}  // namespace

ticker::ticker(std::chrono::nanoseconds period, std::source_location where) : ticker(period, sched::now(), where) {}

ticker::ticker(std::chrono::nanoseconds period, clock::time_point begin, std::source_location where)
    : period_(checked(period, {"ticker", where})), due_(begin + period_) {}

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

void ticker::restart(std::chrono::nanoseconds period, std::source_location where) {
  period_ = checked(period, {"ticker::restart", where});
  due_ = sched::now() + period_;
}

}  // namespace sync
}  // namespace v1
}  // namespace shunt
