#include <shunt/sched/observe/report.hpp>

#include <mutex>

#include <shunt/sched/observe/detail/fiber_dump.hpp>
#include <shunt/sched/observe/detail/registry.hpp>

namespace shunt {
inline namespace v1 {
namespace sched {

std::string report_fibers() {
  auto& r = detail::the_registry();
  const std::scoped_lock held(r.lock);
  std::string all;
  for (detail::shared* each : r.runtimes) all += detail::fibers_of_locked(*each);
  return all.empty() ? "no runtime runs\n" : all;
}

}  // namespace sched
}  // namespace v1
}  // namespace shunt
