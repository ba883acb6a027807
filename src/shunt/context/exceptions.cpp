#include <shunt/context/exceptions.hpp>

#include <cxxabi.h>

namespace shunt {
inline namespace v1 {
namespace context {

exception_state& exceptions_of_this_thread() noexcept {
  asm volatile("");  // has an effect, for all the compiler knows: two calls are not merged
  return *reinterpret_cast<exception_state*>(abi::__cxa_get_globals());
}

}  // namespace context
}  // namespace v1
}  // namespace shunt
