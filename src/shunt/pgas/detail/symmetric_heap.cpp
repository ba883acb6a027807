#include <shunt/pgas/detail/symmetric_heap.hpp>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <iterator>
#include <new>

#include <sys/mman.h>

namespace shunt {
inline namespace v1 {
namespace pgas {
namespace detail {

/// A block's offset is a multiple of its alignment, so its address is one, too, where the heap begins at a multiple.
symmetric_heap::symmetric_heap(std::size_t bytes)
    : mapped_(::mmap(nullptr, bytes + largest_alignment, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)),
      begin_(nullptr),
      bytes_(bytes) {
  if (mapped_ == MAP_FAILED) throw std::bad_alloc();
  const auto beyond = reinterpret_cast<std::uintptr_t>(mapped_) % largest_alignment;
  begin_ = static_cast<std::byte*>(mapped_) + (beyond == 0 ? 0 : largest_alignment - beyond);
  free_.emplace(0, bytes);
}

symmetric_heap::~symmetric_heap() { ::munmap(mapped_, bytes_ + largest_alignment); }

/// The first free piece that is large enough: the same one on every PE.
void* symmetric_heap::allocate(std::size_t bytes, std::size_t alignment) {
  constexpr std::size_t line = 64;  // two blocks share no cache line
  if (bytes == 0 || bytes > bytes_ || !std::has_single_bit(alignment) || alignment > largest_alignment) return nullptr;
  const auto unit = std::max(alignment, line);
  const auto size = (bytes + line - 1) / line * line;
  for (auto piece = free_.begin(); piece != free_.end(); ++piece) {
    const auto [begin, length] = *piece;
    const auto at = (begin + unit - 1) / unit * unit;
    if (at - begin > length || length - (at - begin) < size) continue;
    free_.erase(piece);
    if (at != begin) free_.emplace(begin, at - begin);
    if (at + size != begin + length) free_.emplace(at + size, begin + length - at - size);
    used_.emplace(at, size);
    return begin_ + at;
  }
  return nullptr;
}

bool symmetric_heap::free(void* block) {
  if (block == nullptr) return true;
  const auto found = used_.find(offset_of(block));
  if (found == used_.end()) return false;
  auto piece = free_.emplace(found->first, found->second).first;
  used_.erase(found);
  const auto next = std::next(piece);
  if (next != free_.end() && piece->first + piece->second == next->first) {
    piece->second += next->second;
    free_.erase(next);
  }
  if (piece == free_.begin()) return true;
  const auto before = std::prev(piece);
  if (before->first + before->second == piece->first) {
    before->second += piece->second;
    free_.erase(piece);
  }
  return true;
}

std::size_t symmetric_heap::bytes_of(void* block) const {
  const auto found = used_.find(offset_of(block));
  return found == used_.end() ? 0 : found->second;
}

std::size_t symmetric_heap::offset_of(void* block) const noexcept {
  return static_cast<std::size_t>(static_cast<std::byte*>(block) - begin_);
}

}  // namespace detail
}  // namespace pgas
}  // namespace v1
}  // namespace shunt
