/// Somebody who waits, in a list of those who do.
#pragma once

#include <shunt/sched/sleeper.hpp>

namespace shunt {
inline namespace v1 {
namespace detail::typed {

/// Woken once, by who has taken it out of the list.
struct waiter : sched::sleeper {
  waiter* next = nullptr;
};

}  // namespace detail::typed
}  // namespace v1
}  // namespace shunt
