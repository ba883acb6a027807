/// A fiber or thread that waits, in a list of waiters.
#pragma once

#include <utility>

#include <shunt/sched/waiter.hpp>

namespace shunt {
inline namespace v1 {
namespace actor::detail {

/// Woken once, by the thread that has taken it out of the list.
struct listed_waiter : sched::waiter {
  listed_waiter* next = nullptr;
};

/// Wakes all waiters of a list, and empties it. The list's owner, or under its lock.
inline void wake_all(listed_waiter*& list) noexcept {
  for (listed_waiter* w = std::exchange(list, nullptr); w != nullptr;) std::exchange(w, w->next)->wake();
}

}  // namespace actor::detail
}  // namespace v1
}  // namespace shunt
