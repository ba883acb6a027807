#include <algorithm>
#include <shunt/stm/detail/engine/read_log.hpp>
#include <shunt/stm/detail/engine/write_log.hpp>

namespace shunt {
inline namespace v1 {
namespace stm::detail {

void read_log::make_room() {
  const auto count = size();
  const auto room = std::max<std::size_t>(256, 2 * count);
  auto more = std::make_unique<const variable*[]>(room);
  std::copy(entries_.get(), entries_.get() + count, more.get());
  entries_ = std::move(more);
  end_ = entries_.get() + count;
  room_ = entries_.get() + room;
}

/// The clock first, then the words. relaxed: the clock's edge `time` brings the locks of all commits up to `now`;
/// nothing later needs to be seen. See DESIGN.md, "Opacity".
bool read_log::extend() noexcept {
  const auto now = the_clock.now.load(std::memory_order_acquire) | waiters_bit;  // edge `time`
  test_point();
  for (auto r = entries_.get(); r != end_ && !has(flaw::extension); ++r) {
    if ((*r)->lock.load(std::memory_order_relaxed) > limit_) return false;  // locked, or newer
    test_point();
  }
  limit_ = now;
  return true;
}

/// relaxed: the exchange that took the version brings the locks of all commits before it (edge `time`).
const variable* read_log::validate(const write_log& writes) const noexcept {
  for (auto r = entries_.get(); r != end_; ++r) {
    test_point();
    const auto seen = (*r)->lock.load(std::memory_order_relaxed);
    if (seen <= limit_) continue;
    if (is_locked(seen)) {
      const entry* const own = writes.owner_of(seen);
      if (own != nullptr ? own->before <= limit_ : has(flaw::locks_of_others)) continue;
    }
    if (has(flaw::validation)) continue;
    return *r;
  }
  return nullptr;
}

}  // namespace stm::detail
}  // namespace v1
}  // namespace shunt
