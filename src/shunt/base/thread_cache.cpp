#include <shunt/base/thread_cache.hpp>

#include <utility>

namespace shunt {
inline namespace v1 {
namespace detail {
[[gnu::used]] constinit thread_local thread_cache* this_threads_cache = nullptr;
}

namespace {
constexpr std::uint32_t at_once = thread_cache::kept_of_a_size / 2;  // how many blocks come and go together
}

/// Opens the thread's cache, and closes it at the thread's end. Of what other thread_local objects free after that
/// nothing is kept.
struct thread_cache::owner {
  owner() noexcept { detail::this_threads_cache = &cache; }
  ~owner() {
    detail::this_threads_cache = nullptr;
    over = true;
    for (const shelf& s : cache.shelves_) detail::the_slabs.give(s.first);
  }
  owner(const owner&) = delete;
  owner& operator=(const owner&) = delete;

  thread_cache cache;
  static constinit thread_local bool over;
};
constinit thread_local bool thread_cache::owner::over = false;

thread_cache* thread_cache::of_this_thread_by_call() noexcept { return detail::this_threads_cache; }

/// \return null: the thread is about to end.
thread_cache* thread_cache::open() noexcept {
  if (owner::over) return nullptr;
  static thread_local owner opened;
  return &opened.cache;
}

/// There is none, or no cache yet.
void* thread_cache::take_slowly(std::size_t bytes) {
  const auto which = shelf_of(bytes);
  thread_cache* const mine = open();
  if (mine == nullptr) return detail::the_slabs.take(which, 1).first;
  const auto [first, count] = detail::the_slabs.take(which, at_once);
  mine->shelves_[which] = {first->next, kept_of_a_size - (count - 1)};
  return first;
}

/// There is no room, or no cache yet.
void thread_cache::give_slowly(void* at, std::size_t bytes) noexcept {
  const auto which = shelf_of(bytes);
  auto* const last = ::new (at) block{nullptr};
  thread_cache* const mine = open();
  if (mine == nullptr) return detail::the_slabs.give(last);
  auto& [first, room] = mine->shelves_[which];
  last->next = first;
  first = last;
  if (room > 0) {
    --room;
    return;
  }
  // The first stay: they are the warmest.
  block* stays = first;
  for (std::uint32_t i = 1; i < kept_of_a_size - at_once; ++i) stays = stays->next;
  detail::the_slabs.give(std::exchange(stays->next, nullptr));
  room = at_once;
}

}  // namespace v1
}  // namespace shunt
