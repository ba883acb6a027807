#include <shunt/task/when.hpp>

#include <string>

namespace shunt {
inline namespace v1 {
namespace task {
namespace detail {

void must_have_some(const char* call, bool some) {
  if (!some) throw usage_error(error_number(208), std::string(call) + ": needs at least one future");
}

}  // namespace detail
}  // namespace task
}  // namespace v1
}  // namespace shunt
