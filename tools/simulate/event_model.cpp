#include "event_model.hpp"

#include <algorithm>
#include <bit>

#include "superstep_run.hpp"

namespace shunt::simulate {
namespace {

/// What a token of a barrier, or a value in a tree, takes in a train: a batch's head and a message between workers.
constexpr std::int64_t token_bytes = 64;
constexpr std::int64_t value_bytes = 32;

const line& line_by(const machine& on, distance how) noexcept {
  static constexpr line none{};
  return how == distance::self   ? none
         : how == distance::rank ? on.within_rank
         : how == distance::node ? on.within_node
                                 : on.between_nodes;
}

/// From the sender's hands to the receiver's.
picoseconds way(const machine& on, distance how, std::int64_t bytes) noexcept {
  const line& by = line_by(on, how);
  const picoseconds injected = how == distance::network ? on.to_inject(bytes) : 0;
  return by.send + by.for_answer(bytes) + by.latency + std::max(by.for_bytes(bytes), injected) + by.receive;
}

/// Dissemination (Hensgen, Finkel, Manber, IJPP 17, 1988): in round k each worker waits for the one 2^k before it.
std::vector<picoseconds> after_barrier(const machine& on, const placed_job& job, std::vector<picoseconds> at) {
  const std::size_t rounds = job.workers.empty() ? 0 : job.workers.front().before.size();
  for (std::size_t k = 0; k < rounds; ++k) {
    std::vector<picoseconds> next(at.size());
    for (std::size_t w = 0; w < at.size(); ++w) {
      const auto& other = job.workers[w].before[k];
      const picoseconds own = at[w] + line_by(on, other.how).send;
      next[w] = std::max(own, at[static_cast<std::size_t>(other.to)] + way(on, other.how, token_bytes));
    }
    at = std::move(next);
  }
  return at;
}

/// Of a job of which some workers are followed: the last one to come decides for all.
std::vector<picoseconds> after_tree_of_some(const machine& on, const placed_job& job, std::vector<picoseconds> at) {
  picoseconds over = *std::max_element(at.begin(), at.end());
  const std::size_t rounds = job.workers.front().before.size();
  for (std::size_t k = 0; k < rounds; ++k) {
    const distance how = job.workers.front().before[k].how;
    over += way(on, how, token_bytes + (value_bytes << k)) + way(on, how, token_bytes + value_bytes * job.all_workers);
  }
  std::fill(at.begin(), at.end(), over);
  return at;
}

distance between(const worker_place& a, const worker_place& b) noexcept {
  if (a.worker == b.worker) return distance::self;
  if (a.rank == b.rank) return distance::rank;
  return a.node == b.node ? distance::node : distance::network;
}

/// Up a binomial tree to worker 0, whose parent of worker x is x without its lowest bit, and down again with the values
/// of all workers.
std::vector<picoseconds> after_tree(const machine& on, const placed_job& job, std::vector<picoseconds> at) {
  const std::size_t workers = at.size();
  if (static_cast<int>(workers) != job.all_workers) return after_tree_of_some(on, job, std::move(at));
  for (std::size_t x = workers; x-- > 1;) {
    const std::size_t parent = x & (x - 1);
    const auto below = static_cast<std::int64_t>(std::min(x - parent, workers - x));
    at[parent] = std::max(
        at[parent], at[x] + way(on, between(job.workers[x], job.workers[parent]), token_bytes + value_bytes * below));
  }
  for (std::size_t x = 0; x < workers; ++x) {
    const std::size_t reach = x == 0 ? std::bit_ceil(workers) : x & (~x + 1);
    picoseconds leaves = at[x];
    for (std::size_t step = reach / 2; step > 0; step /= 2) {
      const std::size_t child = x + step;
      if (child >= workers) continue;
      const distance how = between(job.workers[x], job.workers[child]);
      at[child] = leaves + way(on, how, token_bytes + value_bytes * job.all_workers);
      leaves += line_by(on, how).send;
    }
  }
  return at;
}

std::vector<picoseconds> after_end(const machine& on, const placed_job& job, ending how, std::vector<picoseconds> at) {
  return how == ending::tree ? after_tree(on, job, std::move(at)) : after_barrier(on, job, std::move(at));
}

resource bound_by(const superstep_result& r) noexcept {
  const time_split& s = r.slowest;
  const picoseconds most = std::max({s.compute, s.packing, s.network, s.waiting});
  if (most == s.compute) return resource::compute;
  if (most == s.packing) return resource::packing;
  if (most == s.waiting) return resource::waiting;
  // The network: a server that is busy most of the time, or the way itself.
  if (2 * r.injecting > r.time && r.injecting >= r.sending) return resource::injection;
  return 2 * r.sending > r.time ? resource::line : resource::latency;
}

superstep_result result_of(const superstep_work& work, std::vector<time_split>& splits,
                           const std::vector<picoseconds>& begins, const std::vector<picoseconds>& ends,
                           const std::vector<picoseconds>& exits, const std::vector<picoseconds>& undisturbed) {
  superstep_result r;
  r.ended_by = work.ended_by;
  std::size_t last = 0;
  for (std::size_t w = 0; w < splits.size(); ++w) {
    // The closing call: what it takes when all come at once is the network's, the rest is waiting for others.
    const picoseconds closing = exits[w] - ends[w];
    const picoseconds by_network = std::min(closing, undisturbed[w]);
    splits[w].network += by_network;
    splits[w].waiting += closing - by_network;
    r.sum += splits[w];
    if (ends[w] > ends[last]) last = w;
  }
  r.slowest = splits[last];
  r.time = *std::max_element(exits.begin(), exits.end()) - *std::max_element(begins.begin(), begins.end());
  return r;
}

}  // namespace

time_split& time_split::operator+=(const time_split& other) noexcept {
  compute += other.compute;
  packing += other.packing;
  network += other.network;
  waiting += other.waiting;
  return *this;
}

std::string name_of(resource what) {
  switch (what) {
    case resource::compute: return "compute";
    case resource::packing: return "packing";
    case resource::injection: return "injection";
    case resource::line: return "line";
    case resource::latency: return "latency";
    case resource::waiting: return "waiting";
  }
  return {};
}

outcome simulate_events(const machine& on, const placed_job& job, const std::vector<superstep_work>& supersteps,
                        std::uint64_t seed) {
  outcome all;
  std::vector<picoseconds> now(job.workers.size());
  for (std::size_t s = 0; s < supersteps.size(); ++s) {
    const superstep_work& work = supersteps[s];
    superstep_run run(on, job, work, now, random_numbers(seed + s)());
    run.run();
    const auto exits = after_end(on, job, work.how, run.ends());
    const auto undisturbed = after_end(on, job, work.how, std::vector<picoseconds>(now.size()));
    auto splits = run.splits();
    superstep_result r = result_of(work, splits, now, run.ends(), exits, undisturbed);
    run.add_to(r);
    r.binds = bound_by(r);
    all.events += run.events();
    all.supersteps.push_back(std::move(r));
    now = exits;
  }
  if (!now.empty()) all.time = *std::max_element(now.begin(), now.end());
  return all;
}

}  // namespace shunt::simulate
