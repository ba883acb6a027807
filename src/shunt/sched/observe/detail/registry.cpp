#include <shunt/sched/observe/detail/registry.hpp>

namespace shunt {
inline namespace v1 {
namespace sched {
namespace detail {

registry& the_registry() {
  static registry& one = *new registry;
  return one;
}

}  // namespace detail
}  // namespace sched
}  // namespace v1
}  // namespace shunt
