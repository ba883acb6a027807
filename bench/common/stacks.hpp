/// Stacks for rivals that bring none of their own: one mapping for all, touched where used, without
/// guard pages (they would only add page table entries, and the kernel's limit on mappings).
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <new>

namespace bench {

class stacks {
 public:
  /// A stack's bytes of address space.
  static constexpr std::size_t bytes = 64 * 1024;

  /// \throws std::bad_alloc
  explicit stacks(std::size_t count) : count_(count) {
    base_ = static_cast<char*>(
        mmap(nullptr, count * bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    if (base_ == MAP_FAILED) throw std::bad_alloc();
    // A huge page here would be sixteen or more stacks that no fiber has touched.
    madvise(base_, count * bytes, MADV_NOHUGEPAGE);
  }
  ~stacks() { munmap(base_, count_ * bytes); }
  stacks(const stacks&) = delete;
  stacks& operator=(const stacks&) = delete;

  [[nodiscard]] char* low(std::size_t i) const noexcept { return base_ + i * bytes; }

  /// Where stack i begins to grow down. Coloured: were all at the same place in their pages, they
  /// would share one or two of the cache's sets.
  [[nodiscard]] char* top(std::size_t i) const noexcept { return low(i) + bytes - i % colours * 64; }
  static constexpr std::size_t usable = bytes - 4096;

 private:
  static constexpr std::size_t colours = 48;  // cache lines of a page, less what the frames need

  std::size_t count_;
  char* base_;
};

}  // namespace bench
