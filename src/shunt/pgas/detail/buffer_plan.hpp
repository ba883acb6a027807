/// How large a worker's trains are, how many it may have, and over how many hops they travel.
#pragma once

#include <cstddef>

#include <shunt/pgas/options.hpp>

namespace shunt {
inline namespace v1 {
namespace pgas {
namespace detail {

struct job_layout;

///   plan        send buffers                 a message carries      where
///   plain       one for each PE              its captures           few PEs, or large budgets
///   plain, but requests routed: those for the PEs of a worker share its first one's buffer    many PEs, large budgets
///   routed      one for each worker          route and captures     many PEs a worker
///   two hops    one for each neighbour of    route and captures     many workers: trains for each would be too short
///               the grid of workers
struct buffer_plan {
  std::size_t capacity = 0;  ///< bytes of messages a train carries
  std::size_t regular = 0;   ///< trains of programs
  std::size_t resting = 0;   ///< as soon as so many are at home, the oldest of them is used rather than a new one
  std::size_t limit = 0;     ///< trains that exist at most
  int hops = 1;
  bool plain = true;
  bool requests_routed = false;  ///< though `plain`

  /// \param budget           bytes of one worker
  /// \param wanted_capacity  0: as large as the budget allows
  /// \param wanted_hops      0: two where trains would else be too short
  /// \param buffers_of_two_hops  as job_layout has it; 0: those of a square grid
  /// \param longest          bytes that a train carries at most, unless they are wanted
  /// \throws usage_error if the budget is too small for any plan.
  static buffer_plan of(std::size_t budget, int pes, int workers, std::size_t wanted_capacity, int wanted_hops,
                        int buffers_of_two_hops = 0, std::size_t longest = usual_train);
  /// Of a job. \param budget_of_pe  bytes; the PEs of a worker put theirs together
  static buffer_plan of(const job_layout& layout, std::size_t budget_of_pe, std::size_t wanted_capacity,
                        int wanted_hops, std::size_t longest = usual_train);
};

}  // namespace detail
}  // namespace pgas
}  // namespace v1
}  // namespace shunt
