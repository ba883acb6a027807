/// The policies that are in force (stm/policies.hpp).
#pragma once

#include <atomic>

namespace shunt {
inline namespace v1 {
namespace stm::detail {

/// The same for all threads; atomics, because any thread may change them at any time.
struct policy_words {
  std::atomic<bool> adapt{true};
  std::atomic<int> workers{0};
  std::atomic<bool> exclusive{true};
  std::atomic<bool> queue_losers{true};
  std::atomic<bool> oldest_first{true};
};
inline constinit policy_words the_policies;

}  // namespace stm::detail
}  // namespace v1
}  // namespace shunt
