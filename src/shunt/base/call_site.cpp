#include <shunt/base/call_site.hpp>

namespace shunt {
inline namespace v1 {

std::string call_site::place() const {
  if (!knows_line()) return {};
  return " (" + std::string(where_.file_name()) + ":" + std::to_string(where_.line()) + ")";
}

}  // namespace v1
}  // namespace shunt
