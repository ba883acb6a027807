/// Fibers that wait for each other in a circle.
#pragma once

#include <string>

#include <shunt/base/error.hpp>
#include <shunt/sched/waker.hpp>

namespace shunt {
inline namespace v1 {
namespace sched {

/// Thrown by a wait that could never end: its fiber would wait for one that waits, perhaps through
/// others, for this one. The text names them in the order of their waits: all, or of more than 21 the first 20.
class deadlock : public error {
 public:
  using error::error;
};

/// While it lives, the running fiber waits for another one's end: without a deadline, and deaf to
/// whatever else might end the wait. Whoever of a circle comes last is told. For the functions that
/// wait; they park while it lives.
///
/// Edges between fibers, F -> G: "F waits for the end of G".
///   E1  An edge of F is F's own to make and take away, and F runs neither while it waits nor at its end:
///       so no edge of a circle goes away.
///   E2  An edge to a fiber that has ended is none: it carries the life of the fiber it means.
/// Whoever makes an edge looks afterwards whether edges lead back to it; of those who close a circle at
/// the same time, the last in the order of sequentially consistent stores sees every other one's.
/// What it sees it reads twice: edges that are there both times were there together. One fiber of a
/// circle is told, and its edge gone before another one looks.
class waits_for_end {
 public:
  /// A fiber only. Nothing for nobody's id. Looks along 1,000 edges at most, so a longer circle is
  /// not found. \param call  the function that waits, for the message.
  /// \throws deadlock; std::bad_alloc for its text.
  /// Cost: one exchange, and some 5 ns for each fiber that is looked at.
  waits_for_end(fiber_id whom, const char* call);
  ~waits_for_end();
  waits_for_end(const waits_for_end&) = delete;
  waits_for_end& operator=(const waits_for_end&) = delete;

 private:
  detail::fiber* me_ = nullptr;  // null: no edge was made
};

}  // namespace sched
}  // namespace v1
}  // namespace shunt
