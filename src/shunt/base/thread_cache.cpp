#include <shunt/base/thread_cache.hpp>

#include <utility>

#include <shunt/base/error.hpp>

namespace shunt {
inline namespace v1 {
namespace detail {
[[gnu::used]] constinit thread_local thread_cache* this_threads_cache = nullptr;
}

/// Opens the thread's cache, and closes it at the thread's end. The thread keeps none of the blocks that other
/// thread_local objects free after that. The cache lies on the heap, since thread_local memory of a library that is
/// loaded late is scarce.
struct thread_cache::owner {
  owner() noexcept { detail::this_threads_cache = ::new (std::nothrow) thread_cache; }
  ~owner() {
    thread_cache* const mine = std::exchange(detail::this_threads_cache, nullptr);
    if (mine == nullptr) return;
    for (const magazine& m : mine->magazines_) {
      if (m.first != nullptr) detail::the_slabs.give(m.first);
    }
    delete mine;
  }
  owner(const owner&) = delete;
  owner& operator=(const owner&) = delete;
};

thread_cache* thread_cache::of_this_thread_by_call() noexcept { return detail::this_threads_cache; }

/// \return null: the thread is about to end, or there was no memory for a cache.
thread_cache* thread_cache::opened() noexcept {
  static thread_local const owner here;
  return of_this_thread_by_call();
}

/// The magazine is empty, or the thread has no cache yet, or no more. Fills half of it.
void* thread_cache::take_slowly(std::size_t bytes) {
  const auto which = magazine_of(bytes);
  thread_cache* const mine = opened();
  if (mine == nullptr) return detail::the_slabs.take(which, 1).first;
  const auto [first, count] = detail::the_slabs.take(which, kept_of_a_size / 2);
  mine->magazines_[which] = {first->next, kept_of_a_size - (count - 1)};
  return first;
}

/// The magazine is full, or the thread has no cache yet, or no more. Half of the blocks stay, the warmest.
void thread_cache::give_slowly(void* at, std::size_t bytes) noexcept {
  const auto which = magazine_of(bytes);
  SHUNT_ASSERT(detail::slabs::class_of_block(at) == which);
  auto* const given = ::new (at) block{nullptr};
  thread_cache* const mine = opened();
  if (mine == nullptr) return detail::the_slabs.give(given);
  auto& [first, room] = mine->magazines_[which];
  given->next = first;
  first = given;
  if (room > 0) {
    --room;
    return;
  }
  constexpr auto stay = kept_of_a_size / 2;
  block* last = first;
  for (std::uint32_t i = 1; i < stay; ++i) last = last->next;
  detail::the_slabs.give(std::exchange(last->next, nullptr));
  room = kept_of_a_size - stay;
}

}  // namespace v1
}  // namespace shunt
