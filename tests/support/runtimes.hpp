/// What tests of everything that runs on a runtime share.
#pragma once

#include <chrono>
#include <functional>
#include <initializer_list>
#include <string>

#include <shunt/sched.hpp>

namespace shunt::testing {

/// Runs `body` on 1, 2 and 4 workers, the idle ones spinning for each of `spins`.
inline void on_workers(const std::function<void()>& body,
                       std::initializer_list<std::chrono::nanoseconds> spins = {sched::options{}.spin}) {
  for (const int workers : {1, 2, 4}) {
    for (const auto spin : spins) {
      sched::options o;
      o.workers = workers;
      o.spin = spin;
      sched::runtime(o).run(body);
    }
  }
}

/// For a test that takes park()'s return for a wake of its own: the fiber that had its place before may have left one.
inline void forget_wakes() {
  sched::this_fiber::self().wake();
  sched::this_fiber::park();
}

/// What no_waiting throws.
struct refused {
  std::string call;
};

/// For this_worker::forbid_wait().
struct no_waiting final : sched::no_wait {
  [[noreturn]] void refuse(shunt::call_site call) const override { throw refused{call.name()}; }
};

}  // namespace shunt::testing
