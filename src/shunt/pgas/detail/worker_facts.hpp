/// What a worker of a job knows of the job from its start to its end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <shunt/wire.hpp>

namespace shunt {
inline namespace v1 {
namespace pgas {
namespace detail {

class recorder;

/// Whether messages have routes. \param flags  of their handler
[[nodiscard]] constexpr bool have_routes(unsigned flags, bool plain, bool requests_routed) noexcept {
  return (flags & wire::unrouted) == 0 && (!plain || (requests_routed && (flags & wire::requests) != 0));
}

class checkpoint_keeper;

/// The workers of a job are numbered over all its ranks; each carries PEs first_pe .. first_pe+pes_here-1.
/// The tables belong to the job and outlive its workers.
struct worker_facts {
  int index = 0;     ///< of this worker, among all of the job
  int local = 0;     ///< of this worker, among those of its rank
  int first_pe = 0;  ///< of those that live here
  int pes_here = 0;
  int workers_here = 0;    ///< of this rank
  int pes = 0;             ///< of the job
  int workers = 0;         ///< of the job
  int hops = 1;            ///< 1: trains go straight; 2: over an intermediate worker
  bool networked = false;  ///< the job has processes that share no memory with this one: trains cross a network
  bool plain = false;  ///< a send buffer for each PE: messages need no route. Else one for each worker, or neighbour
  bool requests_routed = false;  ///< though `plain`: they lie in the buffer of their worker's first PE
  bool explored = false;         ///< a strategy decides: each message travels alone, and sending it is a step
  bool checked = false;          ///< sends and collectives look for mistakes (send_check.hpp)
  recorder* recorded = nullptr;  ///< null: what this worker does is not recorded
  std::size_t budget{0};         ///< bytes of trains a PE, for messages to people
  const std::uint16_t* worker_of = nullptr;    ///< by PE
  const std::uint16_t* next_hop_of = nullptr;  ///< by PE: the send buffer of the worker for which this one loads
                                               ///< messages to it that have routes
  const int* first_pe_of = nullptr;            ///< by worker
  checkpoint_keeper* keeper = nullptr;         ///< of the rank; null in tests that stand in for a job
  std::vector<int> neighbours;                 ///< workers for which this one loads messages, itself excluded

  /// Send buffers are numbered by PE where messages are plain, else by worker.
  [[nodiscard]] int worker_of_buffer(int to) const noexcept { return plain ? worker_of[to] : to; }
  [[nodiscard]] int buffer_of_worker(int to_worker) const noexcept {
    return plain ? first_pe_of[to_worker] : to_worker;
  }
  /// Whether such messages have routes. \param flags  of their handler
  [[nodiscard]] bool routed(unsigned flags) const noexcept { return have_routes(flags, plain, requests_routed); }
  /// The send buffer of messages for a PE.
  [[nodiscard]] int buffer_of(int to, unsigned flags) const noexcept {
    return plain && !routed(flags) ? to : next_hop_of[to];
  }
  [[nodiscard]] int local_pe(int pe) const noexcept { return pe - first_pe; }
};

}  // namespace detail
}  // namespace pgas
}  // namespace v1
}  // namespace shunt
