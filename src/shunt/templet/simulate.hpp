/// A run of actors in virtual time: how long it would take on a machine with more cores.
///
/// Handlers run for real, one after another, on the calling thread. Each is given to a core of the machine that is not
/// there: it begins when its message has been sent, its actor has handled the one before, and a core is free. Handlers
/// begin in the order in which they could. What queues, caches and stealing cost is not in it.
///
/// Source: list scheduling, Graham: Bounds on multiprocessing timing anomalies. SIAM J. Appl. Math. 17 (2), 1969.
#pragma once

#include <chrono>

#include <shunt/templet/engine.hpp>

namespace shunt {
inline namespace v1 {
namespace templet {

/// The machine.
struct simulate {
  int cores = 1;  ///< at least 1
  /// What a handler takes, which is called with these; its messages leave at its end. Null: what it took, measured, and
  /// messages leave when they were sent; so each run differs a little.
  std::chrono::nanoseconds (*cost)(const message& arrived, const actor& self) = nullptr;
};

/// What a run in virtual time has found. It is no measurement.
struct simulated {
  result done;                         ///< as of run()
  std::chrono::nanoseconds time{};     ///< from the first handler's beginning to the last one's end
  std::chrono::nanoseconds work{};     ///< of all handlers: the time on one core
  std::chrono::nanoseconds longest{};  ///< chain of handlers, each of which needs the one before: no machine is faster
};

/// As run(e), in virtual time, on one worker. \throws usage_error for less than one core, and what run() throws
simulated run(engine& e, const simulate& on);

}  // namespace templet
}  // namespace v1
}  // namespace shunt
