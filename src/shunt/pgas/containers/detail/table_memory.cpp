#include <shunt/pgas/containers/detail/table_memory.hpp>

#include <sys/mman.h>

#include <algorithm>
#include <new>

namespace shunt {
inline namespace v1 {
namespace pgas {
namespace detail {

namespace {

constexpr std::size_t large_page = std::size_t{2} << 20U;
constexpr std::size_t large_table = 2 * large_page;  // smaller ones would waste up to a page

std::align_val_t aligned(std::size_t bytes, std::size_t alignment) noexcept {
  return std::align_val_t(bytes < large_table ? std::max(alignment, alignof(std::max_align_t)) : large_page);
}

}  // namespace

void* allocate_table(std::size_t bytes, std::size_t alignment) {
  void* const memory = operator new(bytes, aligned(bytes, alignment));
  if (bytes >= large_table) madvise(memory, bytes, MADV_HUGEPAGE);  // a wish: small pages do
  return memory;
}

void free_table(void* memory, std::size_t bytes, std::size_t alignment) noexcept {
  operator delete(memory, aligned(bytes, alignment));
}

}  // namespace detail
}  // namespace pgas
}  // namespace v1
}  // namespace shunt
