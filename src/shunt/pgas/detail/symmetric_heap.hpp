/// The heap of OpenSHMEM's symmetric memory: blocks of one piece of address space. All PEs ask for the same blocks in
/// the same order, so a block lies at the same distance from the begin of each PE's heap.
#pragma once

#include <cstddef>
#include <map>

namespace shunt {
inline namespace v1 {
namespace pgas {
namespace detail {

class symmetric_heap {
 public:
  /// The largest alignment of a block: that of a huge page.
  static constexpr std::size_t largest_alignment = std::size_t{2} << 20;

  /// \param bytes  of address space: the system gives what is touched. \throws std::bad_alloc
  explicit symmetric_heap(std::size_t bytes);
  ~symmetric_heap();
  symmetric_heap(const symmetric_heap&) = delete;
  symmetric_heap& operator=(const symmetric_heap&) = delete;

  [[nodiscard]] std::byte* begin() const noexcept { return begin_; }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }

  /// \param alignment  a power of two, at most largest_alignment. \return null where no room is left, for 0 bytes, and
  ///   for another alignment
  [[nodiscard]] void* allocate(std::size_t bytes, std::size_t alignment);
  /// Null is no block, and nothing happens. \return whether `block` was one
  bool free(void* block);
  /// \return 0 for what is no block
  [[nodiscard]] std::size_t bytes_of(void* block) const;

 private:
  [[nodiscard]] std::size_t offset_of(void* block) const noexcept;

  void* mapped_;      // what the system gave
  std::byte* begin_;  // the first byte in it that has the largest alignment
  std::size_t bytes_;
  std::map<std::size_t, std::size_t> free_, used_;  // bytes by offset; no two free ones lie side by side
};

}  // namespace detail
}  // namespace pgas
}  // namespace v1
}  // namespace shunt
