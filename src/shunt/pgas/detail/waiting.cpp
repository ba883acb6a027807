#include <shunt/pgas/detail/waiting.hpp>

#include <algorithm>
#include <string>

namespace shunt {
inline namespace v1 {
namespace pgas {
namespace detail {
namespace {

[[noreturn]] void give_up(job_link& job, const wait_limit& limit, const std::string& why) {
  const error late(error_number(928), "PE " + std::to_string(limit.pe) + ": " + why + "; the job ends",
                   {.pe = limit.pe});
  job.fail(late.what());
  throw late;
}

}  // namespace

std::chrono::steady_clock::time_point waiting::keep_limits(const char* call) {
  const auto me = sched::this_fiber::id();
  auto first = std::chrono::steady_clock::time_point::max();
  for (const wait_limit* l = limits_; l != nullptr; l = l->next) {
    if (l->fiber != me) continue;
    if (l->stop.stop_requested()) give_up(job_, *l, std::string(call) + " was not over when a stop was requested");
    first = std::min(first, l->deadline);
    if (l->deadline > sched::now()) continue;
    const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(l->time).count();
    give_up(job_, *l, std::string(call) + " was not over when " + std::to_string(ms) + " ms had passed (time_limit)");
  }
  return first;
}

}  // namespace detail
}  // namespace pgas
}  // namespace v1
}  // namespace shunt
