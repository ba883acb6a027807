/// Memory of large tables, in large pages where the kernel gives some: a look into a table of many pages then misses
/// the processor's list of pages less often.
#pragma once

#include <cstddef>

namespace shunt {
inline namespace v1 {
namespace pgas {
namespace detail {

/// Any thread. \param alignment  a power of two \throws std::bad_alloc
[[nodiscard]] void* allocate_table(std::size_t bytes, std::size_t alignment);
/// Any thread. \param bytes, alignment  as they were given
void free_table(void* memory, std::size_t bytes, std::size_t alignment) noexcept;

}  // namespace detail
}  // namespace pgas
}  // namespace v1
}  // namespace shunt
