/// Where threads get memory of small objects from, many at a time, and leave what they do not need: slabs, of blocks of
/// one size each. What is in use lies close together, whoever took it.
///
///   slab   | header | block | block | ...          aligned to its size: a block's address tells its slab
///
///   state   blocks at home   where it stands      take()                    give()
///   full    none             nowhere              not found                 -> some
///   some    some             in its class's list  -> full by the last one   -> empty by the last one
///   empty   all              its class's spare    -> some, full             breach of contract
///
/// A class of sizes has one spare at most: a second slab that gets empty goes back to the heap. The spare is taken from
/// when the list is empty, so that what is in use comes closer together again.
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

/// What stands in a block that nobody uses.
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
  /// Of each block.
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

  /// How many slabs the heap has given and not got back.
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

/// The process's: constructed before anything else, never destroyed. A fork()'s child finds it as between two calls.
extern constinit slabs the_slabs;

}  // namespace detail
}  // namespace v1
}  // namespace shunt
