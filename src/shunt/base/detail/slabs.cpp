#include <shunt/base/detail/slabs.hpp>

#include <new>
#include <type_traits>
#include <utility>

#include <pthread.h>

#include <shunt/base/cache_line.hpp>

namespace shunt {
inline namespace v1 {
namespace detail {

constinit slabs the_slabs;
static_assert(std::is_trivially_destructible_v<slabs>, "threads that outlive main() use it");

struct alignas(cache_line) slabs::slab {
  // The heap's own words lie before each piece: without this room the next slab would begin a whole slab later.
  static constexpr std::size_t heap_margin = cache_line;

  slab(std::size_t its_size) noexcept
      : size(its_size),
        capacity(static_cast<std::uint32_t>((slab_bytes - heap_margin - sizeof(slab)) / ((its_size + 1) * step))) {}

  static slab& of(const free_block* b) noexcept {
    return *reinterpret_cast<slab*>(reinterpret_cast<std::uintptr_t>(b) & ~std::uintptr_t{slab_bytes - 1});
  }
  [[nodiscard]] std::uint32_t at_home() const noexcept { return capacity - out; }
  /// At least one is at home. What has been used before comes first: it may be in a cache.
  free_block* pop() noexcept {
    ++out;
    if (free_block* const b = freed; b != nullptr) {
      freed = b->next;
      return b;
    }
    return ::new (reinterpret_cast<std::byte*>(this + 1) + (size + 1) * step * touched++) free_block{nullptr};
  }
  void push(free_block* b) noexcept {
    --out;
    b->next = freed;
    freed = b;
  }

  slab* before = nullptr;
  slab* after = nullptr;
  free_block* freed = nullptr;
  const std::size_t size;
  const std::uint32_t capacity;
  std::uint32_t touched = 0;  // blocks from the first on that have been in use
  std::uint32_t out = 0;      // blocks that are in use
};

void slabs::put_in_list(slab& s) noexcept {
  slab*& first = lists_[s.size];
  s.before = nullptr;
  s.after = first;
  if (first != nullptr) first->before = &s;
  first = &s;
}

void slabs::take_out_of_list(slab& s) noexcept {
  (s.before != nullptr ? s.before->after : lists_[s.size]) = s.after;
  if (s.after != nullptr) s.after->before = s.before;
}

/// \return an empty one.
slabs::slab* slabs::open(std::size_t size) {
  if (slab* const spare = std::exchange(spares_[size], nullptr); spare != nullptr) return spare;
  const auto unlock = [] { the_slabs.lock_.unlock(); };
  [[maybe_unused]] static const int failure = ::pthread_atfork([] { the_slabs.lock_.lock(); }, unlock, unlock);
  void* const memory = ::operator new(slab_bytes - slab::heap_margin, std::align_val_t{slab_bytes});
  ++count_;
  return ::new (memory) slab(size);
}

slabs::taken slabs::take(std::size_t size, std::uint32_t at_most) {
  const std::lock_guard held(lock_);
  slab* from = lists_[size];
  if (from == nullptr) {
    from = open(size);
    put_in_list(*from);
  }
  taken all{nullptr, 0};
  for (; all.count < at_most && from->at_home() > 0; ++all.count) {
    free_block* const b = from->pop();
    b->next = all.first;
    all.first = b;
  }
  if (from->at_home() == 0) take_out_of_list(*from);
  return all;
}

void slabs::give(free_block* first) noexcept {
  const std::lock_guard held(lock_);
  while (first != nullptr) {
    free_block* const b = std::exchange(first, first->next);
    slab& home = slab::of(b);
    if (home.at_home() == 0) put_in_list(home);
    home.push(b);
    if (home.out > 0) continue;
    take_out_of_list(home);
    if (spares_[home.size] == nullptr) {
      spares_[home.size] = &home;
    } else {
      ::operator delete(&home, std::align_val_t{slab_bytes});
      --count_;
    }
  }
}

std::size_t slabs::count() noexcept {
  const std::lock_guard held(lock_);
  return count_;
}

}  // namespace detail
}  // namespace v1
}  // namespace shunt
