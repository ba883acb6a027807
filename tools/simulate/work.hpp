/// What the workers of a job have to do in a superstep, and where they are: the event model's input.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "picoseconds.hpp"

namespace shunt::simulate {

/// What lies between a worker and another.
enum class distance : std::uint8_t { self, rank, node, network };

/// How a message comes to its handler. Each stage but the first begins where trains of another one are unloaded.
///   programs   sent by a program
///   onward     the second hop of these
///   handlers   sent by a handler: replies above all
///   returning  the second hop of these
enum class stage : std::uint8_t { programs, onward, handlers, returning };
inline constexpr std::size_t stages = 4;

/// What goes into one send buffer of a worker.
struct load {
  std::int32_t to = 0;  ///< the worker, by its place in the model
  distance how = distance::self;
  std::int64_t messages = 0;
  std::int64_t bytes = 0;    ///< all messages together
  picoseconds handling = 0;  ///< what the other worker needs for them
};

/// What ends a superstep.
enum class ending : std::uint8_t {
  marks,    ///< finish(): end marks to all neighbours, then a barrier
  barrier,  ///< a barrier alone
  tree      ///< up a tree to one worker and down again: sums, gathers
};

/// One worker in one superstep.
struct worker_work {
  picoseconds program = 0;                      ///< of its PEs, the loading of messages not included
  std::array<std::vector<load>, stages> loads;  ///< by stage
};

struct superstep_work {
  std::string ended_by;
  ending how = ending::barrier;
  std::vector<worker_work> workers;  ///< by their place in the model
};

/// One worker of the model, the same in all supersteps.
struct worker_place {
  int worker = 0;  ///< of the job
  int rank = 0;    ///< by its place in the model
  int node = 0;    ///< by its place in the model
  struct other {
    std::int32_t to = 0;  ///< by its place in the model
    distance how = distance::self;
  };
  std::vector<other> neighbours;  ///< for which it loads messages, itself excluded
  std::vector<other> before;      ///< by round of a dissemination barrier: the worker for whose token it waits
};

/// A job on a machine, as far as the model follows it.
struct placed_job {
  std::vector<worker_place> workers;
  int all_workers = 1;  ///< of the job; more than `workers` where some stand for others like them
  int all_nodes = 1;    ///< that the job uses
  int ranks = 1;        ///< of the model
  int nodes = 1;        ///< of the model
  int hops = 1;
  std::int64_t train_bytes = 0;  ///< that a train carries
  std::int64_t regular = 0;      ///< trains of a worker's program that may be under way
};

}  // namespace shunt::simulate
