#include <algorithm>
#include <cstdint>
#include <shunt/base/error.hpp>
#include <shunt/stm/detail/engine/names.hpp>
#include <utility>

namespace shunt {
inline namespace v1 {
namespace stm::detail {

names& the_names() {
  static names& one = *new names;
  return one;
}

void names::add(const void* what, std::size_t bytes, std::string name) {
  const std::scoped_lock held(lock_);
  const auto [at, is_new] = all_.try_emplace({reinterpret_cast<std::uintptr_t>(what), bytes}, name);
  if (!is_new) throw usage_error(error_number(703), "named: `" + name + "` is called `" + at->second + "` already");
  largest_ = std::max(largest_, bytes);
}

void names::remove(const void* what, std::size_t bytes) noexcept {
  const std::scoped_lock held(lock_);
  all_.erase({reinterpret_cast<std::uintptr_t>(what), bytes});
}

/// Of the objects that contain the variable the one that begins last: objects lie in one another, or apart.
const std::string* names::find(const void* variable) const {
  const auto where = reinterpret_cast<std::uintptr_t>(variable);
  for (auto at = all_.upper_bound({where, 0}); at != all_.begin();) {
    --at;
    const auto within = where - at->first.begins;
    if (within < at->first.bytes) return &at->second;
    if (within >= largest_) break;
  }
  return nullptr;
}

std::string names::of(const void* variable) {
  const std::scoped_lock held(lock_);
  const auto* const name = find(variable);
  return name == nullptr ? std::string() : *name;
}

/// Different names only, each once; looks no further than one name more than are told.
std::string names::of_some(const std::vector<const variable*>& some) {
  constexpr std::size_t enough = 3;
  std::vector<const std::string*> found;
  const std::scoped_lock held(lock_);
  if (all_.empty()) return {};
  for (const variable* const v : some) {
    const auto* const name = find(v);
    if (name == nullptr || std::find(found.begin(), found.end(), name) != found.end()) continue;
    found.push_back(name);
    if (found.size() > enough) break;
  }
  std::string text;
  for (std::size_t i = 0; i < std::min(found.size(), enough); ++i) text += (i == 0 ? "`" : ", `") + *found[i] + '`';
  return found.size() > enough ? text + " and others" : text;
}

}  // namespace stm::detail
}  // namespace v1
}  // namespace shunt
