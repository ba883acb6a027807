/// Supersteps of a job on a machine, train by train.
///
///   worker   compute, load | o_s |            | o_r, handle |        one thing after another
///   NIC                     wait | bytes |                           one train after another
///   line                                 L ->
///
/// What the model follows, of what the library does
///   - A train leaves when the next message finds no room in it, or when its worker has nothing else to do.
///   - A worker unloads what has come whenever a train of its program has left, and when it waits.
///   - A train that is longer than what the network sends unasked travels once the receiver has answered.
///   - A program waits while as many trains of its worker are under way as its budget allows.
///   - finish() sends an end mark to each neighbour, with the last messages for it if there are any; over two hops
///     another one when all of the first hop have come; and ends with a dissemination barrier.
/// What it leaves out: docs/manual/simulation.md.
///
/// Source of the parameters: machine.hpp.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "machine.hpp"
#include "work.hpp"

namespace shunt::simulate {

/// Where a worker's time goes. The four add up to the superstep's time.
struct time_split {
  picoseconds compute = 0;  ///< program and handlers
  picoseconds packing = 0;  ///< messages loaded, trains sent and received: o_s, o_r
  picoseconds network = 0;  ///< nothing to do, while a train for it is under way
  picoseconds waiting = 0;  ///< nothing to do, while others still compute
  [[nodiscard]] picoseconds sum() const noexcept { return compute + packing + network + waiting; }
  time_split& operator+=(const time_split& other) noexcept;
};

/// What most of the slowest worker's time goes to.
enum class resource : std::uint8_t { compute, packing, injection, line, latency, waiting };
[[nodiscard]] std::string name_of(resource what);

struct superstep_result {
  std::string ended_by;
  picoseconds time = 0;       ///< from the first worker's beginning to the last one's end
  time_split sum;             ///< over the workers
  time_split slowest;         ///< of the worker that came last to the end, before it waited for nothing but the network
  picoseconds injecting = 0;  ///< the busiest node's NIC
  picoseconds sending = 0;    ///< the busiest process's line
  std::int64_t trains = 0;    ///< of the workers in the model
  std::int64_t bytes = 0;     ///< they carried
  resource binds = resource::compute;
};

struct outcome {
  std::vector<superstep_result> supersteps;
  picoseconds time = 0;  ///< all of them
  std::uint64_t events = 0;
};

/// \throws usage_error for an input in which a worker waits for what never comes
[[nodiscard]] outcome simulate_events(const machine& on, const placed_job& job,
                                      const std::vector<superstep_work>& supersteps, std::uint64_t seed);

}  // namespace shunt::simulate
