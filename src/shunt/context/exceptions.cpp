#include <shunt/context/exceptions.hpp>

#include <cxxabi.h>

namespace shunt {
inline namespace v1 {
namespace context {

exception_state& exceptions_of_this_thread() noexcept {
  asm volatile("");  // an effect that the compiler cannot see through, so that it does not merge two calls
  return *reinterpret_cast<exception_state*>(abi::__cxa_get_globals());
}

}  // namespace context
}  // namespace v1
}  // namespace shunt
