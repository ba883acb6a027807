/// Doing something once, for fibers and threads.
#pragma once

#include <atomic>
#include <concepts>
#include <functional>
#include <mutex>
#include <source_location>
#include <utility>

#include <shunt/sync/mutex.hpp>

namespace shunt {
inline namespace v1 {
namespace sync {

/// The first call runs its function; calls that come meanwhile wait for it, and later ones return at once. If the
/// function throws, the exception goes to that call, and the next call runs its own function.
///
/// ```cpp
/// shunt::once loaded;
/// loaded.call([&] { table = read_table(file); });
/// ```
///
/// Edge: a release store, and the acquire load that it feeds
///   done   the call that ran the function -> every call that returns without running one
///
/// Cost: a load once it has been done.
class once {
 public:
  once() noexcept = default;
  once(const once&) = delete;
  once& operator=(const once&) = delete;

  /// Any fiber or thread, not from within the function. \throws what the function throws; what mutex::lock() throws.
  template <class F>
    requires(std::invocable<F> && !std::invocable<F, std::source_location>)
  void call(F&& f, std::source_location where = std::source_location::current()) {
    if (!done()) call_first(where, std::forward<F>(f));
  }
  /// The same, with arguments of `f`; errors name no line.
  template <class F, class... Args>
    requires(std::invocable<F, Args...> && (sizeof...(Args) > 0 || std::invocable<F, std::source_location>))
  void call(F&& f, Args&&... args) {
    if (!done()) call_first(std::source_location(), std::forward<F>(f), std::forward<Args>(args)...);
  }

 private:
  [[nodiscard]] bool done() const noexcept { return done_.load(std::memory_order_acquire); }  // edge `done` in
  template <class F, class... Args>
  void call_first(std::source_location where, F&& f, Args&&... args) {
    running_.lock(where);
    const std::lock_guard held(running_, std::adopt_lock);
    if (done_.load(std::memory_order_relaxed)) return;  // relaxed: running_ orders it
    std::invoke(std::forward<F>(f), std::forward<Args>(args)...);
    done_.store(true, std::memory_order_release);  // edge `done` out
  }

  std::atomic<bool> done_{false};
  mutex running_;
};

}  // namespace sync

using sync::once;

}  // namespace v1
}  // namespace shunt
