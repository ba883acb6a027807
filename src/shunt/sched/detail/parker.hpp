/// One thread's bed: it sleeps until somebody leaves a token.
///
///   token   park()                       unpark()
///   0       sleeps; returns at 1 or late -> 1, wakes
///   1       -> 0, returns at once        -> 1
///
/// A token left late (after the sleeper's time ran out) makes the next park() return at once: a
/// spurious wake, which every caller copes with.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

#include <shunt/sched/futex.hpp>

namespace shunt {
inline namespace v1 {
namespace sched {
namespace detail {

class parker {
 public:
  /// Owner only. May return for no reason.
  void park(std::chrono::nanoseconds at_most) noexcept {
    // acquire: what the unparker wrote before its token; the inbox's edge `sent` says it too.
    if (token_.exchange(0, std::memory_order_acquire) == 0) {
      futex_wait(token_, 0, at_most);
      token_.exchange(0, std::memory_order_acquire);
    }
  }

  /// Any thread.
  void unpark() noexcept {
    token_.exchange(1, std::memory_order_release);  // pairs with the acquires in park()
    futex_wake(token_);
  }

 private:
  std::atomic<std::uint32_t> token_{0};
};

}  // namespace detail
}  // namespace sched
}  // namespace v1
}  // namespace shunt
