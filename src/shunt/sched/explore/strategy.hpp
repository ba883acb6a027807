/// Decides what a runtime of one worker does next, in place of the order in which fibers become ready.
///
/// A runtime with a strategy (options::strategy) is deterministic: it has one worker, no order but the strategy's, and
/// a time of its own. The same program with the same choices runs the same way. test::explore() is built on it, and is
/// what programs want; a strategy of your own is for policies that explore() does not have.
///
/// The strategy is asked before each step. A step is what one fiber does between two points at which another fiber may
/// run. Such points are: a yield, a park, a fiber's beginning and end; a call by which fibers meet (a spawn, a send, a
/// promise that is kept, a wait, a transaction: they call this_fiber::interleave()); and each call of interleave() in
/// the program. Within a step nothing interferes: memory is read and written as if there were one thread. So memory
/// orders that are too weak are not found.
///
/// Time: the run's own, sched::now(), begins an hour after the clock's epoch. Each step takes a microsecond of it. When
/// no fiber is ready, it jumps to the next deadline. So an hour's sleep costs nothing, and no deadline passes while a
/// fiber could run.
///
/// Not controlled: other threads, input and output, the program's random numbers, addresses.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include <shunt/sched/waker.hpp>

namespace shunt {
inline namespace v1 {
namespace sched {

/// Chooses the order of a run that is explored. Programs may derive one; explore() has its own.
class strategy {
 public:
  /// What there is to choose from.
  struct moment {
    /// The fibers that can go on, at least one, in the order in which they became ready. Taken in turn, they run
    /// fairly.
    std::span<const fiber_id> ready;
    /// The first of them has just called interleave(), and would have gone on but for the question. To choose another
    /// fiber is a pre-emption.
    bool first_goes_on;
  };

  virtual ~strategy() = default;

  /// Called on the worker's thread, in its loop. Must neither throw nor wait. \return an index of `now.ready`.
  [[nodiscard]] virtual std::size_t choose(const moment& now) noexcept = 0;

  /// Called on the worker's thread, in a fiber that calls this_worker::choose(). Must neither throw nor wait.
  /// \param ways  at least 2. \return a number below `ways`.
  [[nodiscard]] virtual std::size_t choose_among(std::size_t ways) noexcept = 0;

  /// Called like choose() when no fiber can go on, and no deadline will come. If it returns, the worker sleeps until
  /// another thread wakes a fiber. \param fibers  what each fiber waits for, as report_fibers() says it.
  virtual void stuck(std::string_view fibers) noexcept = 0;
};

}  // namespace sched
}  // namespace v1
}  // namespace shunt
