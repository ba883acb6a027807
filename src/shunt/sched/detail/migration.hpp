/// How a started fiber that migrates gets to another worker, and back. See DESIGN.md, "Unless it migrates".
///
/// The loop of the fiber's worker only. There no fiber of the worker is between its decision to stop and its last
/// register saved.
#pragma once

namespace shunt {
inline namespace v1 {
namespace sched {
namespace detail {

class worker;
struct fiber;

/// If a worker sleeps, hands it half of this worker's migratable fibers; never the only fiber that is ready here.
void hand_over(worker& w) noexcept;

/// `f` has ended here: it goes back to the worker whose stack it has.
void send_to_first_worker(worker& w, fiber* f) noexcept;

}  // namespace detail
}  // namespace sched
}  // namespace v1
}  // namespace shunt
