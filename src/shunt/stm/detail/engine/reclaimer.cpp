#include <algorithm>
#include <shunt/stm/detail/engine/reclaimer.hpp>
#include <shunt/stm/detail/engine/registry.hpp>

namespace shunt {
inline namespace v1 {
namespace stm::detail {

void drop_all(std::vector<owned>& list) noexcept {
  if (list.empty()) return;
  std::vector<owned> gone;
  gone.swap(list);
  for (const owned& o : gone) o.drop(o.what);
  gone.clear();
  if (list.empty()) list.swap(gone);  // keeps the memory
}

/// Frees the waiting batch if all participants of its fence have moved on; then begins the next batch, if `enough` is
/// retired.
bool reclaimer::step(const participant& self, std::size_t enough) noexcept {
  if (!waiting_.empty()) {
    const bool moved_on = std::all_of(seen_inside_.begin(), seen_inside_.end(),
                                      [](const auto& s) { return s.first->number() != s.second; });
    if (moved_on) drop_all(waiting_);
  }
  if (!waiting_.empty() || retired_.size() < enough) return true;
  seen_inside_.clear();
  waiting_.swap(retired_);
  participant::heavy_fence();
  try {
    for (const participant* p = the_registry().first(); p != nullptr; p = p->next) {
      const auto number = p->number();
      if (p != &self && (number & 1) != 0) seen_inside_.emplace_back(p, number);
    }
  } catch (...) {  // no memory: a later call tries again
    waiting_.swap(retired_);
    return false;
  }
  if (seen_inside_.empty()) drop_all(waiting_);
  return true;
}

void reclaimer::free_all(const participant& self) noexcept {
  for (int i = 0;; ++i) {
    if (!step(self, 1) || empty()) return;
    pause(i);
  }
}

}  // namespace stm::detail
}  // namespace v1
}  // namespace shunt
