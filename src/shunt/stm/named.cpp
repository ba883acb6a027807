#include <shunt/stm/detail/engine/names.hpp>
#include <shunt/stm/named.hpp>
#include <utility>

namespace shunt {
inline namespace v1 {
namespace stm {

named::named(const void* object, std::size_t bytes, std::string name) : object_(object), bytes_(bytes) {
  detail::the_names().add(object, bytes, std::move(name));
}
named::~named() { detail::the_names().remove(object_, bytes_); }

}  // namespace stm
}  // namespace v1
}  // namespace shunt
