/// A block of memory that is used piece by piece for a long time.
#pragma once

#include <cstddef>
#include <new>
#include <utility>

namespace shunt {
inline namespace v1 {

/// Bytes of a huge page of x86-64, and of AArch64 with pages of 4 KiB.
inline constexpr std::size_t huge_page = std::size_t{2} << 20;

/// Owns its memory. A block of at least a huge page is aligned to one, and asks the system for huge pages: thousands of
/// pieces then need a handful of entries of the table of address translations, and one page fault in place of 512.
class block {
 public:
  block() noexcept = default;  ///< no memory
  /// \param alignment  a power of two; 1 and more. \throws std::bad_alloc
  block(std::size_t bytes, std::size_t alignment);
  /// The other one has no memory afterwards.
  block(block&& other) noexcept : memory_(std::exchange(other.memory_, nullptr)), alignment_(other.alignment_) {}
  /// Frees the memory that it had; the other one has none afterwards.
  block& operator=(block&& other) noexcept {
    std::swap(memory_, other.memory_);
    std::swap(alignment_, other.alignment_);
    return *this;
  }
  ~block() {
    if (memory_ != nullptr) ::operator delete(memory_, alignment_);
  }

  /// \return the first byte; null after a move.
  [[nodiscard]] std::byte* data() const noexcept { return memory_; }

 private:
  std::byte* memory_ = nullptr;
  std::align_val_t alignment_{1};
};

}  // namespace v1
}  // namespace shunt
