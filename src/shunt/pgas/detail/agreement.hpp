/// Whether the workers of a job are in the same collective call.
///
/// A worker that is about to sleep amid a collective tells the next one, in a ring, which call it is in, once. Workers
/// that wait for each other in different calls stand somewhere side by side in that ring, and the second of two such
/// sees it.
///
///   worker           the worker before it              what it knows
///   in call n        has told of call n or n+1         the same call: nothing to say; another: PEs disagree
///   in call n        has told of an earlier call       nothing yet
///
/// No PE leaves a collective call before every one is in it, so another worker is at most one call ahead; but for
/// ending(), which a worker passes when its own PEs have called it. Until it learns that all have, it compares what it
/// is told with that call, too, and tells of it when it sleeps.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <shunt/pgas/detail/collective_call.hpp>
#include <shunt/pgas/detail/outbound.hpp>

namespace shunt {
inline namespace v1 {
namespace pgas {
namespace detail {

class agreement {
 public:
  agreement(const worker_facts& facts, outbound& out) noexcept : facts_(facts), out_(out) {}

  /// The worker is about to sleep in call `number`, counted from 0. \return whether it has sent a notice.
  bool announce(std::uint64_t number, const collective_call& what) noexcept;

  /// A notice of the worker before this one. \param here  the number of the call that this worker is in, or comes to
  /// \throws damage for what cannot be
  void notice_arrived(int from, std::uint64_t number, const collective_call& what, std::uint64_t here);
  /// What the worker before this one is in, if that is another call than this worker's.
  [[nodiscard]] std::optional<collective_call> other_call(std::uint64_t number,
                                                          const collective_call& mine) const noexcept;
  /// This worker goes on to call `here`: what it has been told of those before, it has compared.
  void came_to(std::uint64_t here);

  /// This worker has passed a call in which others need not be yet, until all_have_called().
  void passed(std::uint64_t number, const collective_call& what) { passed_.push_back({number, what}); }
  void all_have_called(const collective_call& what);
  /// The worker is about to sleep. \return whether it has sent a notice of such a call.
  bool announce_passed() noexcept;
  /// What the worker before this one is in, where this one has passed another call.
  struct two_calls {
    collective_call mine, theirs;
  };
  [[nodiscard]] std::optional<two_calls> other_call_passed() const noexcept;

  /// The job ends here: tells the next worker how many notices it has been sent. What was announced has to arrive
  /// before the transport stops.
  void leave();
  /// Whether the worker before this one has left, and all its notices have arrived.
  [[nodiscard]] bool neighbour_has_left() const noexcept { return left_after_ == received_ + 1; }
  void leave_notice_arrived(int from, std::uint64_t notices);

 private:
  bool tell(std::uint64_t number, const collective_call& what) noexcept;
  [[nodiscard]] int next() const noexcept { return (facts_.index + 1) % facts_.workers; }
  [[nodiscard]] int previous() const noexcept { return (facts_.index + facts_.workers - 1) % facts_.workers; }

  const worker_facts& facts_;
  outbound& out_;
  std::uint64_t announced_ = 0;  // calls before this one have been announced
  std::uint64_t sent_ = 0, received_ = 0;
  struct numbered_call {
    std::uint64_t number;
    collective_call what;
    bool announced = false;  // by this worker
  };
  std::vector<numbered_call> told_;  // by the worker before this one, of calls that may still be compared
  std::vector<numbered_call> passed_;
  std::uint64_t left_after_ = 0;  // 1 + how many notices the worker before this one has sent; 0: it may send more
  bool leaving_ = false;
};

}  // namespace detail
}  // namespace pgas
}  // namespace v1
}  // namespace shunt
