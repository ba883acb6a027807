#include <shunt/task/fork_join.hpp>

#include <string>

#include <shunt/sched.hpp>

namespace shunt {
inline namespace v1 {
namespace task {
namespace detail {

void must_be_in_fiber(call_site call) {
  if (!sched::this_fiber::inside())
    throw usage_error(error_number(101),
                      std::string(call.name()) +
                          ": called outside a fiber: call it in what shunt::launch() or runtime::run() runs" +
                          call.place(),
                      call.where());
}

void must_have_grain(call_site call, bool positive) {
  if (!positive)
    throw usage_error(error_number(203), std::string(call.name()) + ": a grain is at least 1" + call.place(),
                      call.where());
}

std::size_t workers_here() { return static_cast<std::size_t>(sched::this_worker::current().workers()); }

}  // namespace detail
}  // namespace task
}  // namespace v1
}  // namespace shunt
