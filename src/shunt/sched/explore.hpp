/// Does a program do right whatever its fibers' order? Runs it in many orders, each of which can be repeated.
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
/// Each run is a process of its own, forked from this one, in which one worker runs what a chooser tells it to:
/// chooser.hpp says what a step is, what time is, and what stays outside. So every run begins with the same memory, and
/// a run that crashes, never ends, or leaves fibers behind harms no other. A run fails
///   - if an exception leaves the program, or one of its fibers;
///   - if it can never go on: a deadlock, or a lost wake-up. The report has the table of all fibers;
///   - if it ends the process, by a signal or otherwise;
///   - if it takes more than `most_steps`, or `patience` without an end.
///
/// Then its schedule is reported, and printed to stderr: a short text. With SHUNT_SCHEDULE set to it explore() makes
/// this one run. (gdb follows it after `set follow-fork-mode child`.)
///
/// Sources: Musuvathi, Qadeer: Iterative context bounding for systematic testing of multithreaded programs, PLDI 2007,
/// doi:10.1145/1250734.1250785. Burckhardt, Kothari, Musuvathi, Nagarakatte: A randomized scheduler with probabilistic
/// guarantees of finding bugs, ASPLOS 2010, doi:10.1145/1736020.1736040.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

namespace shunt {
inline namespace v1 {
namespace test {

enum class policy : std::uint8_t {
  /// Each step any ready fiber, all alike.
  random,
  /// Fibers have random priorities, and `depth` - 1 times, at random steps, who runs becomes the last one. A mistake
  /// that needs `depth` orderings to come true, among n fibers that take k steps, is found with a probability of at
  /// least 1 / (n k^(depth - 1)) a run. Who gives way (a yield, say) becomes the last one too.
  pct,
  /// Every order, one after the other, as far as the runs go: first the fair one, then those that differ from it late.
  exhaustive,
};

struct exploration {
  policy how = policy::random;
  std::string schedule{};  ///< as a report had it: one run, by this alone. Empty, and SHUNT_SCHEDULE not set: all
  std::uint64_t seed = 1;  ///< the first run's; each other one has the next. Not of policy::exhaustive.
  int depth = 3;           ///< policy::pct's; at least 1
  /// policy::exhaustive leaves out orders with more pre-emptions: most mistakes need one or two.
  int most_preemptions = 1'000'000;
  std::size_t most_steps = 100'000;            ///< of a run; one that takes more fails
  std::chrono::milliseconds patience{20'000};  ///< by the clock on the wall; a run that takes longer fails
};

struct explored {
  std::size_t runs = 0;    ///< that were made
  bool complete = false;   ///< policy::exhaustive: there are no other orders
  std::string schedule{};  ///< of the run that failed; empty: none did
  std::string failure{};   ///< what it did, and what it wrote; empty: none failed
};

/// A thread that is no worker, best while there is no other: what another thread holds at the fork is held for ever in
/// the child. Runs `program`, as a fiber, at most `runs` times, until one fails.
/// \param program  called once a run. What it changes outside of itself is gone with the run's process.
/// \throws usage_error on a worker, for a depth or a SHUNT_SCHEDULE that makes no sense; shunt::error if the system
///         gives no process. Cost: some 0.3 ms a run, and what the program does.
[[nodiscard]] explored explore(const std::function<void()>& program, std::size_t runs, const exploration& how = {});

}  // namespace test
}  // namespace v1
}  // namespace shunt
