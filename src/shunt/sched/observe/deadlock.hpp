/// Fibers that wait for each other in a circle.
#pragma once

#include <string>

#include <shunt/base/call_site.hpp>
#include <shunt/base/error.hpp>
#include <shunt/sched/waker.hpp>

namespace shunt {
inline namespace v1 {
namespace sched {

/// Thrown by a wait that could never end: its fiber would wait for a fiber that waits, perhaps through others, for this
/// one. The text names the fibers in the order of their waits: all of them, or the first 20 of more than 21.
class deadlock : public error {
 public:
  /// See error's: the text, what is known as numbers, the line.
  using error::error;
};

/// While one lives, the running fiber waits for another fiber's end, without a deadline, and nothing else ends the
/// wait. The fiber that closes a circle of such waits gets `deadlock`. For functions that wait; they park while it
/// lives.
///
/// Edges between fibers, F -> G: "F waits for the end of G".
///   deadlock.E1  Only F makes and removes an edge of F, and F does not run while it waits. So no edge of a circle
///                goes away.
///   deadlock.E2  An edge to a fiber that has ended does not count: it carries the generation of the fiber it means.
///   deadlock.E3  The stores that make edges, and the loads that follow them, are sequentially consistent. A fiber that
///                makes an edge looks afterwards whether edges lead back to it. If several fibers close a circle at the
///                same time, the last one in the order of those stores sees the edges of all.
///   deadlock.E4  A fiber reads what it sees twice: edges that are there both times were there together.
/// One fiber of a circle gets the exception, and its edge is gone before another fiber looks.
///
/// Edges of memory
///   `waits`     waits_for_end -> edge_of   the generation of the fiber that F waits for, and the names
///   `replaced`  waits_for_end -> edge_of   a look that finds a later edge's generation is followed by one that finds
///                                          the former edge gone (deadlock.E4)
class waits_for_end {
 public:
  /// A fiber only. Looks along 1,000 edges at most, so a longer circle is not found.
  /// \param other  the fiber whose end is waited for; an empty id: nothing happens.
  /// \param call  the function that the program called, for the message.
  /// \throws deadlock; usage_error outside a fiber; std::bad_alloc for the text.
  /// Cost: one exchange, and some 2 ns for each fiber that is looked at.
  waits_for_end(fiber_id other, call_site call);
  ~waits_for_end();
  waits_for_end(const waits_for_end&) = delete;
  waits_for_end& operator=(const waits_for_end&) = delete;

 private:
  detail::fiber* me_ = nullptr;  // null: no edge was made
};

}  // namespace sched
}  // namespace v1
}  // namespace shunt
