/// Who decides what a runtime of one worker does next, in place of the order in which things come.
///
/// A runtime with a chooser (options::decides) is deterministic: one worker, no order but the chooser's, and a time of
/// its own. The same program with the same choices runs the same way. test::explore() is built on it, and is what
/// programs want; a chooser of one's own is for policies that it does not have.
///
/// The chooser is asked before each step. A step is what one fiber does between two points at which another one may
/// run: a yield, a park, its beginning and its end, a call by which fibers meet (a spawn, a send, a promise that is
/// kept, a wait, a transaction: they call this_fiber::interleave()), and wherever else the program calls that. Within a
/// step nothing interferes: memory is read and written as if there were one thread, so orderings that are too weak are
/// not found.
///
/// Time: this run's, sched::now(), begins an hour after the clock's epoch. Each step takes a microsecond of it; when no
/// fiber is ready, it jumps to the next deadline. So an hour's sleep costs nothing, and no deadline passes while
/// somebody could run.
///
/// What is outside stays outside: other threads, input and output, random numbers of the program's, addresses.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include <shunt/sched/waker.hpp>

namespace shunt {
inline namespace v1 {
namespace sched {

class chooser {
 public:
  struct moment {
    /// Who can go on, at least one, in the order in which they became ready. Taken in turn, they run fairly.
    std::span<const fiber_id> ready;
    /// The first of them has just come to a point, and would have gone on but for the question: to choose another one
    /// is what is called a pre-emption.
    bool first_goes_on;
  };

  virtual ~chooser() = default;

  /// The worker's thread, in its loop; must not throw, nor wait. \return an index of `now.ready`.
  [[nodiscard]] virtual std::size_t choose(const moment& now) noexcept = 0;

  /// Likewise, in a fiber that asks this_worker::choose(): of so many ways, at least two, which? \return an index.
  [[nodiscard]] virtual std::size_t choose_among(std::size_t ways) noexcept = 0;

  /// As choose(): nobody can go on, and no deadline will come. \param fibers  who waits for what, as report_fibers().
  /// If it returns, the worker sleeps until another thread wakes a fiber.
  virtual void stuck(std::string_view fibers) noexcept = 0;
};

}  // namespace sched
}  // namespace v1
}  // namespace shunt
