#include <shunt/base/error.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace shunt {
inline namespace v1 {

std::string error_number::text() const {
  if (value_ == 0) return {};
  char made[16];
  std::snprintf(made, sizeof made, "SHUNT-%04d", value_);
  return made;
}

std::string error_number::added_to(const std::string& message) const {
  if (value_ == 0) return message;
  std::string all = message;
  return all.insert(std::min(all.find('\n'), all.size()), " [" + text() + "]");
}

error::error(error_number number, const std::string& what, std::source_location where)
    : error(number, what, facts(), where) {}

error::error(error_number number, const std::string& what, facts known, std::source_location where)
    : std::runtime_error(number.added_to(what)), number_(number), facts_(known), where_(where) {}

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
