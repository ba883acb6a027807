#include <shunt/task/when.hpp>

#include <string>

namespace shunt {
inline namespace v1 {
namespace task {
namespace detail {

void must_have_some(call_site call, bool some) {
  if (some) return;
  throw usage_error(error_number(208), std::string(call.name()) + ": needs at least one future" + call.place(),
                    call.where());
}

}  // namespace detail
}  // namespace task
}  // namespace v1
}  // namespace shunt
