#include <shunt/pgas/checkpoint_form.hpp>

#include <shunt/base/error.hpp>

namespace shunt {
inline namespace v1 {
namespace pgas {
namespace {

// Blocks grow with what they hold, so that little is taken for little.
constexpr std::size_t first_block_bytes = 4096;
constexpr std::size_t most_block_bytes = std::size_t{1} << 20;  // unless one value is longer

}  // namespace

/// What fits into the last block goes there; the rest begins a new one, which holds it whole.
void checkpoint_writer::put_more(std::span<const std::byte> bytes) {
  const std::size_t fits = blocks_end_ - blocks_at_;
  if (fits != 0) std::memcpy(blocks_.back().bytes.get() + blocks_at_, bytes.data(), fits);
  bytes = bytes.subspan(fits);
  const std::size_t size = std::max(bytes.size(), std::clamp(full_ + blocks_end_, first_block_bytes, most_block_bytes));
  blocks_.push_back({std::make_unique_for_overwrite<std::byte[]>(size), 0});
  if (blocks_.size() > 1) blocks_[blocks_.size() - 2].used = blocks_end_;
  full_ += blocks_end_;
  blocks_end_ = size;
  blocks_at_ = bytes.size();
  std::memcpy(blocks_.back().bytes.get(), bytes.data(), bytes.size());
}

void checkpoint_reader::refuse(const std::string& why) const { throw error(error_number(960), what_ + ": " + why); }

}  // namespace pgas
}  // namespace v1
}  // namespace shunt
