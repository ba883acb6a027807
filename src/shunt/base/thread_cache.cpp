#include <shunt/base/thread_cache.hpp>

#include <utility>

namespace shunt {
inline namespace v1 {
namespace detail {
[[gnu::used]] constinit thread_local thread_cache* this_threads_cache = nullptr;
}

/// Opens the thread's cache, and closes it at the thread's end. What other thread_local objects free after that goes back
/// to the heap at once.
struct thread_cache::owner {
  owner() noexcept { detail::this_threads_cache = &cache; }
  ~owner() {
    detail::this_threads_cache = nullptr;
    over = true;
    for (const shelf& s : cache.shelves_) {
      for (block* b = s.first; b != nullptr;) ::operator delete(std::exchange(b, b->next));
    }
  }
  owner(const owner&) = delete;
  owner& operator=(const owner&) = delete;

  thread_cache cache;
  static constinit thread_local bool over;
};
constinit thread_local bool thread_cache::owner::over = false;

thread_cache* thread_cache::of_this_thread_by_call() noexcept { return detail::this_threads_cache; }

/// There is no room, or no cache yet.
void thread_cache::give_slowly(void* at, std::size_t bytes) noexcept {
  if (keeps && of_this_thread_by_call() == nullptr && !owner::over) {
    static thread_local owner opened;
    return give(at, bytes);
  }
  ::operator delete(at);
}

}  // namespace v1
}  // namespace shunt
