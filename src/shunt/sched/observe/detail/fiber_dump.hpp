/// What every fiber of a runtime does, as text: all reports are made of it.
#pragma once

#include <span>
#include <string>

#include <shunt/sched/detail/fiber.hpp>
#include <shunt/sched/observe/detail/snapshot.hpp>

namespace shunt {
inline namespace v1 {
namespace sched {
namespace detail {

class dump_text;
class shared;
class worker;

/// Asks each of `workers` for its fibers, and adds them to each of `into`. Wakes workers that sleep. A worker that a
/// fiber keeps from its loop is interrupted by a signal; a worker that answers neither is named. The caller holds the
/// registry's lock. \throws std::bad_alloc
void collect(std::span<worker* const> workers, std::span<const fiber_slab> all, snapshot::scope what,
             std::span<dump_text* const> into);
/// The same for all fibers of `of`.
void collect(const shared& of, std::span<const fiber_slab> all, std::span<dump_text* const> into);

/// Any thread; `of` runs. \throws std::bad_alloc
[[nodiscard]] std::string fibers_of(shared& of);
/// The same, for a caller that holds the registry's lock.
[[nodiscard]] std::string fibers_of_locked(shared& of);

}  // namespace detail
}  // namespace sched
}  // namespace v1
}  // namespace shunt
