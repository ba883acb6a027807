#include <algorithm>
#include <bit>
#include <shunt/stm/detail/engine/write_log.hpp>

namespace shunt {
inline namespace v1 {
namespace stm::detail {

const entry* write_log::find_by_index(const variable* v) const noexcept {
  const auto mask = index_.size() - 1;
  for (auto at = hash(v) & mask;; at = (at + 1) & mask) {
    if (index_[at] == 0) return nullptr;
    if (entries_[index_[at] - 1].target == v) return &entries_[index_[at] - 1];
  }
}

void write_log::insert(const variable* v, std::uint32_t position) noexcept {
  const auto mask = index_.size() - 1;
  auto at = hash(v) & mask;
  while (index_[at] != 0) at = (at + 1) & mask;
  index_[at] = position + 1;
}

/// Doubles the entries where they are full; beyond the first few it indexes the new one, too.
void write_log::make_room_for(const variable* v) {
  const auto count = size();
  if (count == capacity_) {
    const auto room = std::max(few, 2 * count);
    std::unique_ptr<entry[]> more(new entry[room]);
    std::copy(begin(), end_, more.get());
    entries_ = std::move(more);
    end_ = entries_.get() + count;
    room_ = entries_.get() + few;
    capacity_ = room;
  }
  if (count < few) return;
  if (count == few || 2 * (count + 1) > index_.size()) {
    std::vector<std::uint32_t> larger(std::bit_ceil(4 * (count + 1)));
    index_.swap(larger);
    for (std::size_t i = 0; i < count; ++i) insert(entries_[i].target, static_cast<std::uint32_t>(i));
  }
  insert(v, static_cast<std::uint32_t>(count));
}

void write_log::truncate(std::size_t count) noexcept {
  if (count == size()) return;
  end_ = begin() + count;
  if (count <= few) return;
  std::fill(index_.begin(), index_.end(), 0);
  for (std::size_t i = 0; i < count; ++i) insert(entries_[i].target, static_cast<std::uint32_t>(i));
}

}  // namespace stm::detail
}  // namespace v1
}  // namespace shunt
