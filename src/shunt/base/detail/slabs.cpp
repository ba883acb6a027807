#include <shunt/base/detail/slabs.hpp>

#include <new>
#include <type_traits>
#include <utility>

#include <pthread.h>

#include <shunt/base/cache_line.hpp>
#include <shunt/base/error.hpp>

namespace shunt {
inline namespace v1 {
namespace detail {

constinit slabs the_slabs;
static_assert(std::is_trivially_destructible_v<slabs>, "threads that outlive main() use it");

/// Registered when the program starts, before it has threads. Holds the lock during a fork(), so that the child finds
/// no call half done.
struct around_fork {
  around_fork() noexcept {
    const auto unlock = [] { the_slabs.lock_.unlock(); };
    [[maybe_unused]] const int failure = ::pthread_atfork([] { the_slabs.lock_.lock(); }, unlock, unlock);
    SHUNT_ASSERT(failure == 0);
  }
};
static const around_fork registered;

struct alignas(cache_line) slabs::slab {
  // The heap keeps words of its own before each piece: without this margin the next slab would begin a whole slab
  // later.
  static constexpr std::size_t heap_margin = cache_line;

  explicit slab(std::size_t its_class) noexcept
      : size_class(its_class),
        capacity(static_cast<std::uint32_t>((slab_bytes - heap_margin - sizeof(slab)) / bytes_of(its_class))) {}

  static slab& of(const void* block) noexcept {
    return *reinterpret_cast<slab*>(reinterpret_cast<std::uintptr_t>(block) & ~std::uintptr_t{slab_bytes - 1});
  }
  [[nodiscard]] std::uint32_t at_home() const noexcept { return capacity - out; }
  /// At least one block is at home. Blocks that have been in use come first: they may be in a cache.
  free_block* pop() noexcept {
    ++out;
    if (freed != nullptr) return std::exchange(freed, freed->next);
    return ::new (reinterpret_cast<std::byte*>(this + 1) + bytes_of(size_class) * touched++) free_block{nullptr};
  }
  void push(free_block* b) noexcept {
    --out;
    b->next = freed;
    freed = b;
  }

  slab* before = nullptr;
  slab* after = nullptr;
  free_block* freed = nullptr;
  const std::size_t size_class;
  const std::uint32_t capacity;
  std::uint32_t touched = 0;  // blocks from the first on that have been in use
  std::uint32_t out = 0;      // blocks that are in use
};

std::size_t slabs::class_of_block(const void* at) noexcept { return slab::of(at).size_class; }

void slabs::put_in_list(slab& s) noexcept {
  slab*& first = lists_[s.size_class];
  s.before = nullptr;
  s.after = first;
  if (first != nullptr) first->before = &s;
  first = &s;
}

void slabs::take_out_of_list(slab& s) noexcept {
  (s.before != nullptr ? s.before->after : lists_[s.size_class]) = s.after;
  if (s.after != nullptr) s.after->before = s.before;
}

/// Opens the spare or a new slab if the list is empty, then takes from the list's slabs.
slabs::taken slabs::take(std::size_t size_class, std::uint32_t at_most) {
  SHUNT_ASSERT(at_most > 0);
  slab*& list = lists_[size_class];
  std::unique_lock held(lock_);
  if (list == nullptr) {
    slab* fresh = std::exchange(spares_[size_class], nullptr);
    if (fresh == nullptr) {
      held.unlock();  // an operator new of the program may call take()
      fresh = ::new (::operator new(slab_bytes - slab::heap_margin, std::align_val_t{slab_bytes})) slab(size_class);
      held.lock();
      ++count_;
    }
    put_in_list(*fresh);
  }
  taken all{nullptr, 0};
  while (all.count < at_most && list != nullptr) {
    slab& from = *list;
    free_block* const b = from.pop();
    b->next = std::exchange(all.first, b);
    ++all.count;
    if (from.at_home() == 0) take_out_of_list(from);
  }
  return all;
}

/// Puts each block into its slab. A slab that gets empty becomes the spare, or goes back to the heap.
void slabs::give(free_block* first) noexcept {
  slab* gone = nullptr;  // deleted without the lock, as it was made
  {
    const std::lock_guard held(lock_);
    while (first != nullptr) {
      free_block* const b = std::exchange(first, first->next);
      slab& home = slab::of(b);
      if (home.at_home() == 0) put_in_list(home);
      home.push(b);
      if (home.out > 0) continue;
      take_out_of_list(home);
      if (spares_[home.size_class] == nullptr) {
        spares_[home.size_class] = &home;
      } else {
        home.after = std::exchange(gone, &home);
        --count_;
      }
    }
  }
  while (gone != nullptr) ::operator delete(std::exchange(gone, gone->after), std::align_val_t{slab_bytes});
}

std::size_t slabs::count() noexcept {
  const std::lock_guard held(lock_);
  return count_;
}

}  // namespace detail
}  // namespace v1
}  // namespace shunt
