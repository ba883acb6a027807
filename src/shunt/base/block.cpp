#include <shunt/base/block.hpp>

#include <algorithm>

#include <sys/mman.h>

namespace shunt {
inline namespace v1 {

block::block(std::size_t bytes, std::size_t alignment)
    : alignment_(static_cast<std::align_val_t>(bytes < huge_page ? alignment : std::max(alignment, huge_page))) {
  memory_ = static_cast<std::byte*>(::operator new(bytes, alignment_));
  // Only advice: where the system does not take it, small pages serve as well.
  if (bytes >= huge_page) ::madvise(memory_, bytes / huge_page * huge_page, MADV_HUGEPAGE);
}

}  // namespace v1
}  // namespace shunt
