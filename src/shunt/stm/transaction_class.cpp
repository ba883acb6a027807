#include <shunt/stm/detail/engine/registry.hpp>
#include <shunt/stm/transaction_class.hpp>
#include <string>

namespace shunt {
inline namespace v1 {
namespace stm {

/// The name decides: objects of the same name find the same record.
detail::class_record& transaction_class::registered(const std::source_location& where) const {
  std::string name;
  if (name_ != nullptr) {
    name = name_;
  } else {
    name = where.file_name();
    name.erase(0, name.rfind('/') + 1);
    name += ':' + std::to_string(where.line());
  }
  auto& known = detail::the_registry().record_named(name);
  record_.store(&known, std::memory_order_release);  // edge `class`
  return known;
}

}  // namespace stm
}  // namespace v1
}  // namespace shunt
