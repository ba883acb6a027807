/// What tests of transactions share.
#pragma once

#include <cstdint>
#include <shunt/stm.hpp>
#include <thread>

namespace shunt::testing {

/// While it lives, a transaction's body may wait for another thread's transaction: no transaction runs exclusively, and
/// none waits for a turn. That thread must not end before the body, if it has replaced boxes or destroyed objects.
class side_by_side {
 public:
  side_by_side() {
    stm::set_policies({.adapt = false, .exclusive = false, .queue_losers = false, .oldest_first = false});
    std::thread([] { atomically([] {}); }).join();  // ends exclusive mode, if it is on
  }
  ~side_by_side() { stm::set_policies({}); }
  side_by_side(const side_by_side&) = delete;
  side_by_side& operator=(const side_by_side&) = delete;
};

/// How often transactions have called retry() so far.
inline std::uint64_t retries() {
  std::uint64_t sum = 0;
  for (const auto& c : stm::collect_statistics().classes) sum += c.retries;
  return sum;
}

}  // namespace shunt::testing
