#include <shunt/base/error.hpp>

#include <cstdio>
#include <cstdlib>

namespace shunt {
inline namespace v1 {

std::string what_of(const std::exception_ptr& failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const std::exception& known) {
    return known.what();
  } catch (...) {
    return "an exception that is no std::exception";
  }
}

namespace detail {

void contract_broken(const char* text, const char* file, int line) noexcept {
  std::fprintf(stderr, "%s:%d: contract broken: %s\n", file, line, text);
  std::abort();
}

}  // namespace detail
}  // namespace v1
}  // namespace shunt
