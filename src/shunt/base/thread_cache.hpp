/// Memory of small objects that come and go often: a thread that frees one keeps it for the next one that it makes.
///
/// ```cpp
/// struct node : shunt::in_thread_cache { long value; };
/// delete new node;  // some ten instructions each
/// ```
///
/// One thread may free a block that another has taken: the thread that frees it keeps it. A thread keeps a magazine of
/// at most `kept_of_a_size` blocks for each size. Further blocks, and those that it has when it ends, are for all
/// threads (detail/slabs.hpp): so objects of one size lie close together, whichever thread makes and deletes them.
/// Memory comes from the heap in slabs of 16 KiB, and goes back when all of a slab is free; the last slab of each size
/// stays.
///
/// The caller that gives a block back names the size for which it was taken. So an object that is deleted through a
/// pointer to its base needs a virtual destructor there, as everywhere; else memory is overwritten.
///
/// Under AddressSanitizer threads keep no blocks, so that it sees each object's end (thread_cache::keeps).
///
/// Source: Bonwick, Adams: Magazines and vmem, USENIX 2001.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <new>

#include <shunt/base/detail/slabs.hpp>
#include <shunt/base/sanitizers.hpp>
#include <shunt/base/thread_pointer.hpp>

namespace shunt {
inline namespace v1 {

/// Memory of small objects: each thread keeps what it frees, and takes from that first. Static functions only.
class thread_cache {
 public:
  /// Bytes of the largest block that is kept; larger ones are the heap's at once.
  static constexpr std::size_t largest = detail::slabs::largest;
  /// Blocks of a size that a thread keeps, at most; sizes are multiples of 8.
  static constexpr std::uint32_t kept_of_a_size = 32;
  static_assert(detail::slabs::step == 8 && detail::slabs::slab_bytes == 16 * 1024);
#if defined(SHUNT_ASAN)
  static constexpr bool keeps = false;
#else
  /// Whether freed blocks are kept at all: not under AddressSanitizer, which would not see their misuse.
  static constexpr bool keeps = true;
#endif

  /// Any thread, any fiber. \return room for `bytes`, aligned as an object of that size may need: to 16 bytes if it is
  /// a multiple of that, else to 8. \throws std::bad_alloc
  [[nodiscard, gnu::always_inline]] static void* take(std::size_t bytes) {
    if (bytes > largest || !keeps) return ::operator new(bytes);
    if (thread_cache* const mine = of_this_thread()) [[likely]] {
      auto& [first, room] = mine->magazines_[magazine_of(bytes)];
      if (block* const b = first) [[likely]] {
        first = b->next;
        ++room;
        return b;
      }
    }
    return take_slowly(bytes);
  }

  /// Any thread, any fiber. \param at  what take(bytes) returned, on any thread
  [[gnu::always_inline]] static void give(void* at, std::size_t bytes) noexcept {
    if (bytes > largest || !keeps) return ::operator delete(at);
    if (thread_cache* const mine = of_this_thread()) [[likely]] {
      auto& [first, room] = mine->magazines_[magazine_of(bytes)];
      if (room > 0) [[likely]] {
        first = ::new (at) block{first};
        --room;
        return;
      }
    }
    give_slowly(at, bytes);
  }

  /// Any thread. How many blocks for `bytes` the calling thread keeps.
  [[nodiscard]] static std::size_t kept(std::size_t bytes) noexcept {
    const thread_cache* const mine = of_this_thread();
    return mine == nullptr || bytes > largest ? 0 : kept_of_a_size - mine->magazines_[magazine_of(bytes)].room;
  }

 private:
  using block = detail::free_block;
  struct magazine {
    block* first = nullptr;
    std::uint32_t room = kept_of_a_size;  // how many more blocks fit
  };
  struct owner;

  static constexpr std::size_t magazine_of(std::size_t bytes) noexcept {
    return bytes == 0 ? 0 : detail::slabs::class_of(bytes);
  }

  /// Null: the thread has no cache yet, or no more.
  [[nodiscard, gnu::always_inline]] static thread_cache* of_this_thread() noexcept;
  [[gnu::noinline]] static thread_cache* of_this_thread_by_call() noexcept;
  [[nodiscard]] static thread_cache* opened() noexcept;
  [[nodiscard, gnu::noinline]] static void* take_slowly(std::size_t bytes);
  [[gnu::noinline]] static void give_slowly(void* at, std::size_t bytes) noexcept;

  std::array<magazine, detail::slabs::classes> magazines_;
};

/// Base of a class whose objects lie in such memory, unless they need a larger alignment.
struct in_thread_cache {
  /// \return memory of the thread's cache. \throws std::bad_alloc
  [[nodiscard]] static void* operator new(std::size_t bytes) { return thread_cache::take(bytes); }
  /// Any thread: the block need not come from its own cache.
  static void operator delete(void* at, std::size_t bytes) noexcept { thread_cache::give(at, bytes); }
  /// Objects of a larger alignment lie on the heap. \throws std::bad_alloc
  [[nodiscard]] static void* operator new(std::size_t bytes, std::align_val_t aligned) {
    return ::operator new(bytes, aligned);
  }
  /// Frees such an object.
  static void operator delete(void* at, std::size_t, std::align_val_t aligned) noexcept {
    ::operator delete(at, aligned);
  }
};

namespace detail {
[[gnu::tls_model("initial-exec")]] extern constinit thread_local thread_cache* this_threads_cache asm(
    "shunt_thread_cache_v1");
}  // namespace detail

inline thread_cache* thread_cache::of_this_thread() noexcept {
  thread_cache* found;
  SHUNT_READ_THREAD_POINTER(found, "shunt_thread_cache_v1", of_this_thread_by_call);
  return found;
}

}  // namespace v1
}  // namespace shunt
