/// A recorded job on a described machine: where its PEs live, how its trains go, and so what each worker has to do.
///
/// The library itself says where PEs live and how long trains are (shunt/pgas/job_plan.hpp). Of a large job some nodes
/// are followed, spread evenly: their workers send to as many others as in the whole job, and what is for a node that
/// is not followed goes to one that is, over the same kind of line. So each worker gets as much as in the whole job as
/// long as nodes are alike.
#pragma once

#include <cstdint>
#include <shunt/pgas/job_plan.hpp>
#include <shunt/pgas/recording.hpp>
#include <vector>

#include "machine.hpp"
#include "work.hpp"

namespace shunt::simulate {

/// What the program and its handlers cost.
struct costs {
  bool measured = false;   ///< as recorded; else as the machine's description says, and so the same in each run
  std::int64_t times = 1;  ///< so many messages stand for each that was recorded, and as much time of the program
};

class placement {
 public:
  /// Send buffers of all workers that the model follows, at most; at least two nodes are followed.
  static constexpr std::int64_t most_buffers = 600'000;

  /// \param wanted      pes, budget, train_bytes and hops of it count
  /// \param most_nodes  that are followed; 0: as many as `buffers` allow
  /// \throws usage_error for more than the machine can carry, and as job_plan::of() does
  placement(const machine& on, const pgas::options& wanted, std::int64_t buffers = most_buffers, int most_nodes = 0);

  [[nodiscard]] const pgas::job_plan& plan() const noexcept { return plan_; }
  [[nodiscard]] const placed_job& job() const noexcept { return job_; }
  /// The job's PEs that have to be recorded in full.
  [[nodiscard]] std::vector<pgas::recording::block> kept() const;
  /// The part of the program that it has marked by mark_measured(). Of a program that marks none: all from the
  /// barrier() before its first message to its last message.
  /// \throws usage_error if no PE sends anything
  [[nodiscard]] std::vector<superstep_work> work_of(const pgas::recording& of, const costs& at_costs = {}) const;

  /// Messages that programs and handlers send there, of all PEs, replies left out.
  [[nodiscard]] static std::uint64_t messages_of(const pgas::recording& of);

 private:
  [[nodiscard]] static std::vector<const pgas::recording::superstep*> part_of(const pgas::recording& of);
  struct entry;
  class collector;

  [[nodiscard]] int node_of(int worker) const noexcept;
  [[nodiscard]] distance between(int a, int b) const noexcept;
  [[nodiscard]] std::int32_t fold(int worker, int from) const noexcept;
  [[nodiscard]] bool whole() const noexcept { return job_.all_workers == static_cast<int>(job_.workers.size()); }
  void choose_nodes(std::int64_t buffers, int most_nodes);
  void add_worker(int worker);
  [[nodiscard]] superstep_work laid_out(const pgas::recording::superstep& from,
                                        const std::vector<pgas::recording::block>& kept, const costs& at_costs) const;

  machine on_;
  pgas::job_plan plan_;
  placed_job job_;
  std::vector<int> first_worker_of_node_;  // and one more
  std::vector<int> followed_;              // nodes
  std::vector<std::int32_t> place_of_;     // by worker; -1: not followed
};

}  // namespace shunt::simulate
