#include <shunt/base/error.hpp>

#include <cstdio>
#include <cstdlib>

namespace shunt {
inline namespace v1 {
namespace detail {

void contract_broken(const char* text, const char* file, int line) noexcept {
  std::fprintf(stderr, "%s:%d: contract broken: %s\n", file, line, text);
  std::abort();
}

}  // namespace detail
}  // namespace v1
}  // namespace shunt
