#include <algorithm>
#include <shunt/stm/detail/engine/commute_log.hpp>

namespace shunt {
inline namespace v1 {
namespace stm::detail {

std::optional<commuting_change> commute_log::take(const variable* v) {
  const auto found = std::find_if(changes_.begin(), changes_.end(),
                                  [v](const commuting_change& c) { return v == nullptr || c.target == v; });
  if (found == changes_.end()) return std::nullopt;
  std::optional<commuting_change> taken(std::move(*found));
  changes_.erase(found);
  return taken;
}

}  // namespace stm::detail
}  // namespace v1
}  // namespace shunt
