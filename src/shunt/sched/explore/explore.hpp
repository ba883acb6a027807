/// Is a program right in every order of its fibers? Runs it in many orders, each of which can be repeated.
///
/// ```cpp
/// TEST_CASE("a ticket is sold once") {
///   const auto seen = shunt::test::explore([] {
///     shop s(1);
///     shunt::finish([&] {
///       for (int i = 0; i < 3; ++i) shunt::async([&] { s.buy(); });
///     });
///     if (s.sold() != 1) throw std::logic_error("sold " + std::to_string(s.sold()));
///   }, 1000);
///   CHECK(seen.failure == "");
/// }
/// ```
///
/// Each run is a process of its own, forked from this one, in which one worker runs what a strategy chooses.
/// strategy.hpp says what a step is, what time is, and what is not controlled. So every run begins with the same
/// memory, and a run that crashes, never ends, or leaves fibers behind harms no other run. A run fails
///   - if an exception leaves the program, or one of its fibers;
///   - if it can never continue: a deadlock, or a lost wake-up. The report has the table of all fibers;
///   - if it ends the process, by a signal or otherwise;
///   - if it takes more than `most_steps`, or `patience` without an end.
///
/// Then its schedule, a short text, is reported and printed to stderr, with the failure and what that run wrote. With
/// SHUNT_SCHEDULE set to it, explore() makes this one run. (gdb follows it after `set follow-fork-mode child`.) Nothing
/// else is printed: what runs write that do not fail is dropped. A test that wants a failure takes it by
/// exploration::report.
///
/// A program may run a job of PEs (pgas::run): see pgas/launch.hpp.
///
/// Sources: Musuvathi, Qadeer: Iterative context bounding for systematic testing of multithreaded programs, PLDI 2007,
/// doi:10.1145/1250734.1250785. Burckhardt, Kothari, Musuvathi, Nagarakatte: A randomized scheduler with probabilistic
/// guarantees of finding bugs, ASPLOS 2010, doi:10.1145/1736020.1736040.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <source_location>
#include <string>
#include <string_view>

namespace shunt {
inline namespace v1 {
namespace test {

/// How explore() chooses which fiber takes the next step.
enum class policy : std::uint8_t {
  /// In each step any ready fiber, with equal probability.
  random,
  /// Fibers have random priorities; `depth` - 1 times, at random steps, the running fiber gets the lowest one. A
  /// mistake that needs `depth` orderings, among n fibers that take k steps, is found with a probability of at
  /// least 1 / (n k^(depth - 1)) a run. A fiber that gives way (by a yield, say) gets the lowest priority too.
  pct,
  /// Every order, one after the other, as far as the runs suffice: first the fair one, then those that differ late.
  exhaustive,
};

/// How explore() chooses orders, and how far it goes.
struct exploration {
  policy how = policy::random;  ///< how the next fiber is chosen
  std::string schedule{};       ///< from a report: makes this one run; SHUNT_SCHEDULE goes before it. Empty: all runs
  std::uint64_t seed = 1;       ///< of the first run; each later run has the next one. Not for policy::exhaustive.
  int depth = 3;                ///< for policy::pct; at least 1
  /// policy::exhaustive leaves out orders with more pre-emptions: most mistakes need one or two.
  int most_preemptions = 1'000'000;
  std::size_t most_steps = 100'000;            ///< of a run; a run that takes more fails
  std::chrono::milliseconds patience{20'000};  ///< in real time; a run that takes longer fails

  /// Gets what would be printed of the run that fails and so ends the search: some lines, the last one ended. For tests
  /// that want a failure. Null: it is written to stderr.
  std::function<void(std::string_view)> report{};
};

/// What explore() found.
struct explored {
  std::size_t runs = 0;    ///< that were made
  bool complete = false;   ///< policy::exhaustive: there are no other orders
  std::string schedule{};  ///< of the run that failed; empty: none failed
  std::string failure{};   ///< what it did, and what it wrote; empty: none failed
};

/// A thread that is no worker, best while there is no other thread: a lock that another thread holds at the fork stays
/// locked in the child. Runs `program`, as a fiber, at most `runs` times, until a run fails.
/// \param program  called once a run. What it changes outside of itself is gone with the run's process.
/// \throws usage_error on a worker, or for a depth or a SHUNT_SCHEDULE that makes no sense; shunt::error if the system
///         gives no process. Cost: some 0.3 ms a run, and what the program does.
[[nodiscard]] explored explore(const std::function<void()>& program, std::size_t runs, const exploration& how = {},
                               std::source_location where = std::source_location::current());

}  // namespace test
}  // namespace v1
}  // namespace shunt
