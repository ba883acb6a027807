/// SIGUSR1 asks for a report of all fibers; and the event that wakes the monitor's thread for it, and for other news.
///
/// The signal's handler is installed before main(), and stays. So it uses no lock, and nothing that has to be
/// constructed.
///
/// Invariants
///   monitor_event.H1  The event is written to only by a caller that has raised the count of writers, and found the
///                     event there afterwards. It is closed only after it was taken away, and the count was seen at 0
///                     after that. All of that is sequentially consistent: a handler that the closing thread did not
///                     see finds no event.
///   monitor_event.H2  After a fork the event is the parent's: the handler compares process numbers.
#pragma once

#include <cstdint>

#include <signal.h>

namespace shunt {
inline namespace v1 {
namespace sched {
namespace detail {

// What the sum of what was written to the event tells: how often the signal came, whether there is news, or the end.
inline constexpr std::uint64_t signal_came = 1;
inline constexpr std::uint64_t news = std::uint64_t{1} << 32;
inline constexpr std::uint64_t the_end = std::uint64_t{1} << 48;

/// A thread that begins or ends a run, or that holds monitor_event_lock. The event's descriptor; -1: there is none.
[[nodiscard]] int monitor_event() noexcept;
/// A thread that begins or ends a run. \return false: the system gives no descriptor.
bool open_monitor_event() noexcept;
/// A thread that begins or ends a run.
void close_monitor_event() noexcept;
/// A thread that begins a run. After a fork, forgets the parent's event. \return whether this is another process.
bool forget_parents_event() noexcept;
/// Any thread, also in a signal handler.
void write_event(int to, std::uint64_t what) noexcept;

/// From now on SIGUSR1 asks for a report, unless the program or its parent has decided about it.
void take_user_signal() noexcept;
/// Whether this is the action that take_user_signal() installs.
[[nodiscard]] bool is_our_action(const struct sigaction& action) noexcept;
/// Any thread, also in a signal handler. Writes to stderr that there is nothing to report.
void say_nothing_runs() noexcept;

}  // namespace detail
}  // namespace sched
}  // namespace v1
}  // namespace shunt
