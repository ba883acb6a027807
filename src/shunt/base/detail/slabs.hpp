/// Memory of small objects, shared by all threads: slabs, each of blocks of one size. A thread takes and gives many
/// blocks at a time. Blocks in use lie close together, whichever thread has taken them.
///
///   slab   | header | block | block | ...          aligned to its size: a block's address tells its slab
///
///   state   blocks at home   place                take()                    give()
///   full    none             nowhere              not found                 -> some
///   some    some             in its class's list  -> full by the last one   -> empty by the last one
///   empty   all              its class's spare    -> some, full             breach of contract
///
/// A class of sizes has one spare at most: a second slab that gets empty goes back to the heap. take() uses the spare
/// only when the list is empty, so that blocks in use come closer together again.
///
/// Source: Bonwick: The slab allocator: an object-caching kernel memory allocator, USENIX Summer 1994; for the threads'
/// caches before it Bonwick, Adams: Magazines and vmem, USENIX 2001.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>

namespace shunt {
inline namespace v1 {
namespace detail {

/// The content of a block that is not in use.
struct free_block {
  free_block* next;
};

/// Any thread.
class slabs {
 public:
  static constexpr std::size_t step = 8;       // bytes from one size to the next
  static constexpr std::size_t largest = 256;  // bytes
  static constexpr std::size_t slab_bytes = 16384;

  static constexpr std::size_t classes = largest / step;
  /// \param bytes  1..largest. \return 0..classes - 1.
  static constexpr std::size_t class_of(std::size_t bytes) noexcept { return (bytes - 1) / step; }
  /// Bytes of each block.
  static constexpr std::size_t bytes_of(std::size_t size_class) noexcept { return (size_class + 1) * step; }
  /// For checks. \param at  a block in use.
  static std::size_t class_of_block(const void* at) noexcept;

  constexpr slabs() noexcept = default;
  slabs(const slabs&) = delete;
  slabs& operator=(const slabs&) = delete;

  struct taken {
    free_block* first;
    std::uint32_t count;
  };
  /// \param at_most  1 and more.
  /// \return a chain of 1..at_most blocks: fewer only if the next one would begin another slab. Each is aligned to 16
  /// bytes if the class's size is a multiple of that, else to 8. \throws std::bad_alloc
  [[nodiscard]] taken take(std::size_t size_class, std::uint32_t at_most);
  /// \param first  a chain of blocks of one class; null: none.
  void give(free_block* first) noexcept;

  /// Slabs that the heap has given and not got back.
  [[nodiscard]] std::size_t count() noexcept;

 private:
  friend struct around_fork;
  struct slab;
  void put_in_list(slab& s) noexcept;
  void take_out_of_list(slab& s) noexcept;

  std::mutex lock_;  // guards all below, and all slabs' headers and free blocks
  std::array<slab*, classes> lists_{};
  std::array<slab*, classes> spares_{};
  std::size_t count_ = 0;
};

/// The slabs of the process: constructed before anything else, never destroyed. A child of fork() finds them as between
/// two calls.
extern constinit slabs the_slabs;

}  // namespace detail
}  // namespace v1
}  // namespace shunt
