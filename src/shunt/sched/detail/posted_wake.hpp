/// The wake that another thread has sent to a fiber's home worker: it is under way, or not.
///
///   state       claim()                      arrive()
///   none        -> under way, the caller     breach of contract
///               sends the block
///   under way   -> under way, nothing        -> none, the caller wakes the fiber
///
/// The block is then in the home worker's inbox, by a link that is used for this alone: the fiber may have ended, and
/// its block may stand in any other queue, or belong to a later fiber.
///
/// Invariants
///   posted_wake.I1  The block is in one inbox at most, and in one if the state is `under way`, but for the thread that
///                   has claimed and has not sent yet, or has taken the block out and has not called arrive() yet.
///   posted_wake.I2  A wake of a fiber that lives is not lost, even if its caller was told `nothing`: the
///                   thread that calls arrive() looks for the fiber's home afterwards. The waker knows that home, by
///                   the fiber's start, and so does this thread, by the edge. The wake is done there.
///
/// Edge `signal`, claim -> arrive: what any thread wrote before claim() is visible after the arrive() that ends this
/// wake. Each claim() is written, those that change nothing too.
#pragma once

#include <atomic>

namespace shunt {
inline namespace v1 {
namespace sched {
namespace detail {

class posted_wake {
 public:
  /// Any thread. \return whether the caller must send the block, or arrive().
  [[nodiscard]] bool claim() noexcept {
    // release: edge `signal` out. acquire: the last owner of the link has done with it (edge `signal` is a chain).
    return !under_way_.exchange(true, std::memory_order_acq_rel);
  }
  /// The thread that has taken the block out of an inbox, after its last use of the link, or that could not send it.
  void arrive() noexcept {
    // acquire: edge `signal` in. release: this thread's use of the link precedes the next claimer's.
    under_way_.exchange(false, std::memory_order_acq_rel);
  }

 private:
  std::atomic<bool> under_way_{false};
};

}  // namespace detail
}  // namespace sched
}  // namespace v1
}  // namespace shunt
