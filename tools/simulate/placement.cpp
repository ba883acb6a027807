#include "placement.hpp"

#include <algorithm>
#include <shunt/base/error.hpp>

namespace shunt::simulate {
namespace {

constexpr std::size_t at(std::int64_t i) noexcept { return static_cast<std::size_t>(i); }

/// Continuations travel with requests where trains go over two hops: a pointer or a number, mostly.
constexpr std::int64_t continuation_bytes = 8;

ending ending_of(const std::string& call) {
  if (call == "finish()") return ending::marks;
  return call == "barrier()" || call == "the end of the program" ? ending::barrier : ending::tree;
}

std::int64_t ceil_log2(int n) noexcept {
  std::int64_t rounds = 0;
  for (std::int64_t reach = 1; reach < n; reach *= 2) ++rounds;
  return rounds;
}

}  // namespace

// --- where workers are ---

placement::placement(const machine& on, const pgas::options& wanted, std::int64_t buffers, int most_nodes) : on_(on) {
  const int pes = wanted.pes != 0 ? wanted.pes : on.workers();
  const int workers = std::min(pes, on.workers());
  const int ranks = (workers + on.workers_a_rank - 1) / on.workers_a_rank;
  pgas::options asked = wanted;
  asked.pes = pes;
  plan_ = pgas::job_plan::of(asked, std::vector<int>(at(ranks), on.workers_a_rank));
  for (int w = 0; w < plan_.workers; ++w) {
    while (static_cast<int>(first_worker_of_node_.size()) <= plan_.rank_of[at(w)] / on.ranks_a_node) {
      first_worker_of_node_.push_back(w);
    }
  }
  job_.all_nodes = static_cast<int>(first_worker_of_node_.size());
  first_worker_of_node_.push_back(plan_.workers);
  job_.all_workers = plan_.workers;
  job_.hops = plan_.hops;
  job_.train_bytes = static_cast<std::int64_t>(plan_.train_bytes);
  job_.regular = static_cast<std::int64_t>(plan_.regular);
  choose_nodes(buffers, most_nodes);
  place_of_.assign(at(plan_.workers), -1);
  std::int32_t places = 0;
  for (const int node : followed_) {
    for (int w = first_worker_of_node_[at(node)]; w < first_worker_of_node_[at(node) + 1]; ++w)
      place_of_[at(w)] = places++;
  }
  for (const int node : followed_) {
    for (int w = first_worker_of_node_[at(node)]; w < first_worker_of_node_[at(node) + 1]; ++w) add_worker(w);
  }
}

void placement::choose_nodes(std::int64_t buffers, int most_nodes) {
  const std::int64_t each = plan_.hops == 2 ? plan_.columns + plan_.workers / plan_.columns
                            : plan_.plain   ? plan_.pes
                                            : plan_.workers;
  const std::int64_t a_node = each * plan_.workers / job_.all_nodes;
  auto nodes = static_cast<int>(std::clamp<std::int64_t>(buffers / a_node, 2, std::max(2, job_.all_nodes)));
  if (most_nodes != 0) nodes = std::min(nodes, std::max(2, most_nodes));
  if (nodes >= job_.all_nodes) {
    for (int n = 0; n < job_.all_nodes; ++n) followed_.push_back(n);
  } else {
    for (std::int64_t n = 0; n < nodes; ++n) followed_.push_back(static_cast<int>(n * job_.all_nodes / nodes));
  }
  job_.nodes = static_cast<int>(followed_.size());
  job_.ranks = job_.nodes * on_.ranks_a_node;
}

int placement::node_of(int worker) const noexcept { return plan_.rank_of[at(worker)] / on_.ranks_a_node; }

distance placement::between(int a, int b) const noexcept {
  if (a == b) return distance::self;
  if (plan_.rank_of[at(a)] == plan_.rank_of[at(b)]) return distance::rank;
  return node_of(a) == node_of(b) ? distance::node : distance::network;
}

/// The place of a worker in the model, or of the one that stands for it: on another node than the sender's.
std::int32_t placement::fold(int worker, int from) const noexcept {
  if (place_of_[at(worker)] >= 0) return place_of_[at(worker)];
  const int node = node_of(worker), nodes = static_cast<int>(followed_.size());
  int stands_in = node % nodes;
  if (followed_[at(stands_in)] == node_of(from)) stands_in = (stands_in + 1) % nodes;
  const int there = followed_[at(stands_in)];
  const int first = first_worker_of_node_[at(there)], last = first_worker_of_node_[at(there) + 1] - 1;
  return place_of_[at(std::min(last, first + worker - first_worker_of_node_[at(node)]))];
}

void placement::add_worker(int worker) {
  worker_place mine;
  mine.worker = worker;
  const int node = node_of(worker);
  mine.node = static_cast<int>(std::find(followed_.begin(), followed_.end(), node) - followed_.begin());
  mine.rank = mine.node * on_.ranks_a_node + plan_.rank_of[at(worker)] % on_.ranks_a_node;
  for (int other = 0; other < plan_.workers; ++other) {
    if (other == worker || plan_.next_hop(worker, other) != other) continue;
    mine.neighbours.push_back({fold(other, worker), between(worker, other)});
  }
  for (std::int64_t k = 0, rounds = ceil_log2(plan_.workers); k < rounds; ++k) {
    const int before =
        static_cast<int>((worker + plan_.workers - (std::int64_t{1} << k) % plan_.workers) % plan_.workers);
    mine.before.push_back({fold(before, worker), between(worker, before)});
  }
  job_.workers.push_back(std::move(mine));
}

std::vector<pgas::recording::block> placement::kept() const {
  std::vector<pgas::recording::block> blocks;
  for (const int node : followed_) {
    const int first = plan_.first_pe[at(first_worker_of_node_[at(node)])];
    const int last = plan_.first_pe[at(first_worker_of_node_[at(node) + 1])];
    if (!blocks.empty() && blocks.back().last == first) {
      blocks.back().last = last;
    } else {
      blocks.push_back({first, last});
    }
  }
  return blocks;
}

// --- what they do ---

/// Messages for one buffer, before those of one buffer are put together.
struct placement::entry {
  std::uint64_t key;  // place, stage, buffer
  load what;
};

class placement::collector {
 public:
  collector(const placement& where, const pgas::recording::flow& of, const costs& at_costs)
      : where_(where), of_(of), times_(at_costs.times) {
    const bool plain = where.plan_.plain && !(of.requests && where.plan_.requests_routed);
    plain_ = plain || (of.replies && where.plan_.hops == 1);
    bytes_ = static_cast<std::int64_t>(plain_ ? of.plain_bytes : of.routed_bytes);
    if (where.plan_.hops == 2 && (of.requests || of.replies)) {
      bytes_ += continuation_bytes * static_cast<std::int64_t>(of.messages);
    }
    handler_ = at_costs.measured ? scaled(of.handler_ps, where.on_.compute_permille, 1000) : where.on_.handle_message;
  }

  /// \param from  a PE of a worker that the model follows
  void add(std::vector<entry>& to_entries, int from, int to, std::int64_t recorded, bool by_handlers) const {
    const std::int64_t messages = recorded * times_;
    const auto& plan = where_.plan_;
    const int worker = plan.worker_of[at(from)], last = plan.worker_of[at(to)];
    const int via = plan.next_hop(worker, last);
    const std::int64_t bytes =
        scaled(messages, bytes_, std::max<std::int64_t>(1, static_cast<std::int64_t>(of_.messages)));
    const picoseconds handling = handler_ * messages, passing_on = where_.on_.send_message * messages;
    const auto first_stage = by_handlers ? stage::handlers : stage::programs;
    const auto buffer = static_cast<std::uint32_t>(plan.plain && plain_ ? to : via);
    const std::int32_t place = where_.place_of_[at(worker)], next = where_.fold(via, worker);
    to_entries.push_back({key(place, first_stage, buffer),
                          {next, where_.between(worker, via), messages, bytes, via == last ? handling : passing_on}});
    if (via == last) return;
    const auto along = static_cast<std::uint32_t>((last + plan.workers - via) % plan.workers);
    to_entries.push_back({key(next, by_handlers ? stage::returning : stage::onward, along),
                          {where_.fold(last, via), where_.between(via, last), messages, bytes, handling}});
  }

 private:
  [[nodiscard]] static std::uint64_t key(std::int32_t place, stage of, std::uint32_t buffer) noexcept {
    return static_cast<std::uint64_t>(place) << 40 | static_cast<std::uint64_t>(of) << 32 | buffer;
  }

  const placement& where_;
  const pgas::recording::flow& of_;
  std::int64_t times_;
  bool plain_ = false;
  std::int64_t bytes_ = 0;
  picoseconds handler_ = 0;
};

superstep_work placement::laid_out(const pgas::recording::superstep& from,
                                   const std::vector<pgas::recording::block>& kept, const costs& at_costs) const {
  superstep_work work{from.ended_by, ending_of(from.ended_by), std::vector<worker_work>(job_.workers.size())};
  std::size_t row = 0;
  for (const auto& [first, last] : kept) {
    for (int p = first; p < last; ++p, ++row) {
      const std::int32_t place = place_of_[plan_.worker_of[at(p)]];
      if (place < 0 || !at_costs.measured) continue;
      work.workers[at(place)].program += scaled(from.pe_ps[row], on_.compute_permille, 1000) * at_costs.times;
    }
  }
  std::vector<entry> entries;
  const pgas::recording::flow* replies = nullptr;
  std::int64_t requests = 0;
  for (const auto& f : from.flows) {
    if (f.replies) replies = &f;
    if (f.requests) requests += static_cast<std::int64_t>(f.messages);
  }
  for (const auto& f : from.flows) {
    const collector into(*this, f, at_costs);
    for (const auto& [sender, receiver, messages] : f.pairs) {
      if (place_of_[plan_.worker_of[at(sender)]] < 0) continue;
      into.add(entries, sender, receiver, messages, f.by_handlers);
      if (!f.requests || replies == nullptr) continue;
      // What goes back: from the receiver, or, where not all are followed, from here likewise.
      const std::int64_t back = scaled(messages, static_cast<std::int64_t>(replies->messages), requests);
      const bool turned = place_of_[plan_.worker_of[at(receiver)]] >= 0 && whole();
      collector(*this, *replies, at_costs)
          .add(entries, turned ? receiver : sender, turned ? sender : receiver, back, true);
    }
    if (f.by_handlers || f.replies) continue;
    // Loading is counted apart: the model loads train by train.
    for (const auto& [sender, receiver, messages] : f.pairs) {
      const std::int32_t place = place_of_[plan_.worker_of[at(sender)]];
      if (place < 0) continue;
      auto& program = work.workers[at(place)].program;
      program = std::max<picoseconds>(0, program - on_.send_message * messages * at_costs.times);
    }
  }
  std::stable_sort(entries.begin(), entries.end(), [](const entry& a, const entry& b) { return a.key < b.key; });
  for (std::size_t i = 0; i < entries.size();) {
    load sum = entries[i].what;
    std::size_t j = i + 1;
    for (; j < entries.size() && entries[j].key == entries[i].key; ++j) {
      sum.messages += entries[j].what.messages;
      sum.bytes += entries[j].what.bytes;
      sum.handling += entries[j].what.handling;
    }
    work.workers[at(static_cast<std::int64_t>(entries[i].key >> 40))].loads[entries[i].key >> 32 & 0xff].push_back(sum);
    i = j;
  }
  return work;
}

/// Those that the program has marked; of a program that marks none, those between its last barrier() and its last
/// message.
std::vector<const pgas::recording::superstep*> placement::part_of(const pgas::recording& of) {
  std::vector<const pgas::recording::superstep*> marked, after_barrier;
  std::size_t used = 0;
  bool any = false;
  for (const auto& s : of.supersteps()) {
    if (s.measured) marked.push_back(&s);
    any = any || (s.measured && !s.flows.empty());
    after_barrier.push_back(&s);
    if (!s.flows.empty()) used = after_barrier.size();
    if (s.ended_by == "barrier()" && used == 0) after_barrier.clear();
  }
  if (any) return marked;
  after_barrier.resize(used);
  if (used == 0) {
    throw usage_error(error_number(866), "simulate: no PE of the program sends a message");
  }
  return after_barrier;
}

std::uint64_t placement::messages_of(const pgas::recording& of) {
  std::uint64_t sum = 0;
  for (const auto* s : part_of(of)) {
    for (const auto& f : s->flows) sum += f.replies ? 0 : f.messages;
  }
  return sum;
}

std::vector<superstep_work> placement::work_of(const pgas::recording& of, const costs& at_costs) const {
  std::vector<superstep_work> work;
  for (const auto* s : part_of(of)) work.push_back(laid_out(*s, of.kept(), at_costs));
  return work;
}

}  // namespace shunt::simulate
