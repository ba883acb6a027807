/// A fiber or thread that waits, in a list of waiters.
#pragma once

#include <utility>

#include <shunt/sched/sleeper.hpp>

namespace shunt {
inline namespace v1 {
namespace actor::detail {

/// Woken once, by the thread that has taken it out of the list.
struct waiter : sched::sleeper {
  waiter* next = nullptr;
};

/// Wakes all waiters of a list, and empties it. The list's owner, or under its lock.
inline void wake_all(waiter*& list) noexcept {
  for (waiter* w = std::exchange(list, nullptr); w != nullptr;) std::exchange(w, w->next)->wake();
}

}  // namespace actor::detail
}  // namespace v1
}  // namespace shunt
