#include "superstep_run.hpp"

#include <algorithm>
#include <shunt/base/error.hpp>
#include <utility>

namespace shunt::simulate {
namespace {

/// A batch's head, the head of a message between workers, and what the mark says.
constexpr std::int64_t mark_bytes = 64;

/// Longer trains are sent synchronously (transport/mpi/progress_engine.cpp: eager_bytes): home once they are received.
constexpr std::int64_t unconfirmed_bytes = 4'000;

constexpr std::size_t at(std::int32_t i) noexcept { return static_cast<std::size_t>(i); }
constexpr std::size_t at(stage s) noexcept { return static_cast<std::size_t>(s); }

/// The hop whose marks come with a stage's last trains.
constexpr std::size_t hop_of(stage s) noexcept { return s == stage::programs ? 0 : 1; }

}  // namespace

superstep_run::superstep_run(const machine& on, const placed_job& job, const superstep_work& work,
                             const std::vector<picoseconds>& begins, std::uint64_t seed)
    : on_(on),
      job_(job),
      work_(work),
      workers_(job.workers.size()),
      splits_(job.workers.size()),
      ends_(job.workers.size()),
      line_free_(at(job.ranks)),
      nic_free_(at(job.nodes)),
      line_busy_(at(job.ranks)),
      nic_busy_(at(job.nodes)),
      links_(on.groups) {
  for (std::size_t w = 0; w < workers_.size(); ++w) {
    for (std::size_t s = 0; s < stages; ++s) {
      const auto& loads = work.workers[w].loads[s];
      workers_[w].plan[s] = departures_of(loads, static_cast<stage>(s), job.train_bytes,
                                          random_numbers(seed ^ (w * stages + s) * 0x9e3779b97f4a7c15u));
      for (const auto& l : loads) workers_[at(l.to)].expected[s] += l.messages;
    }
    if (marked()) {
      for (const auto& n : job.workers[w].neighbours) {
        ++workers_[at(n.to)].marks_expected[0];
        if (job.hops == 2) ++workers_[at(n.to)].marks_expected[1];
      }
    }
    queue_.add(begins[w], static_cast<std::int32_t>(w), event::kind::worker_goes_on);
  }
}

void superstep_run::run() {
  while (!queue_.empty() && over_ < workers_.size()) {
    const event e = queue_.next();
    switch (e.what) {
      case event::kind::worker_goes_on: go_on(e.worker, e.at); break;
      case event::kind::train_arrives: train_arrives(e.about, e.at); break;
      case event::kind::credit_returns: {
        worker_state& w = workers_[at(e.worker)];
        --w.under_way;
        if (w.idle_since >= 0) go_on(e.worker, e.at);
        break;
      }
      case event::kind::transfer_begins: {
        const train& t = trains_[e.about];
        const line& by = line_of(t.what.how);
        std::int64_t limit = by.byte_fs == 0 ? 0 : second * 1000 / by.byte_fs;
        if (on_.injection != 0) limit = limit == 0 ? on_.injection : std::min(limit, on_.injection);
        links_.begin(e.at, e.about, job_.workers[at(t.from)].node, job_.workers[at(t.what.to)].node, t.what.bytes,
                     limit);
        expect_next_end();
        break;
      }
      case event::kind::transfers_change: transfers_change(e.at, e.about); break;
    }
  }
  if (over_ < workers_.size()) {
    throw usage_error(error_number(865), "simulate: in a superstep that ends in " + work_.ended_by + ", " +
                                             std::to_string(workers_.size() - over_) +
                                             " workers wait for messages that are never sent");
  }
}

/// What a worker does next. The order is the library's: what is loaded leaves, then what has come is unloaded, then the
/// program goes on, then what is half full leaves.
void superstep_run::go_on(std::int32_t w, picoseconds now) {
  worker_state& me = workers_[at(w)];
  if (me.over) return;
  end_activity(w, now);
  do {
    if (begin_sending(w, now) || begin_unloading(w, now) || begin_slice(w, now)) return;
  } while (me.to_send.empty() && flush(w));
  bool all = me.to_send.empty();  // else there is no credit
  for (std::size_t s = 0; s < stages; ++s) all = all && complete(me, static_cast<stage>(s)) && me.flushed[s];
  if (all) {
    me.over = true;
    ends_[at(w)] = now;
    ++over_;
  } else {
    me.idle_since = now;
  }
}

void superstep_run::end_activity(std::int32_t w, picoseconds now) {
  worker_state& me = workers_[at(w)];
  if (me.idle_since >= 0) {
    // As far as what ends the idling was under way, the network is why.
    const picoseconds handed_over = me.inbox.empty() ? me.idle_since : trains_[me.inbox.front()].handed_over;
    const picoseconds since = std::clamp(handed_over, me.idle_since, now);
    splits_[at(w)].waiting += since - me.idle_since;
    splits_[at(w)].network += now - since;
    me.idle_since = -1;
  }
  if (me.sending) hand_over(w, now);
  if (me.unloading >= 0) unloaded(w, static_cast<std::uint32_t>(std::exchange(me.unloading, -1)), now);
}

bool superstep_run::begin_sending(std::int32_t w, picoseconds now) {
  worker_state& me = workers_[at(w)];
  if (me.to_send.empty()) return false;
  const departure& first = me.to_send.front();
  if (first.of == stage::programs && first.how != distance::self && me.under_way >= job_.regular) return false;
  me.sending = first;
  me.to_send.pop_front();
  if (me.sending->of == stage::programs && me.sending->how != distance::self) ++me.under_way;
  const picoseconds overhead = line_of(me.sending->how).send;
  splits_[at(w)].packing += overhead;
  queue_.add(now + overhead, w, event::kind::worker_goes_on);
  return true;
}

bool superstep_run::begin_unloading(std::int32_t w, picoseconds now) {
  worker_state& me = workers_[at(w)];
  if (me.inbox.empty()) return false;
  me.unloading = me.inbox.front();
  me.inbox.pop_front();
  const departure& what = trains_[static_cast<std::size_t>(me.unloading)].what;
  const picoseconds overhead = line_of(what.how).receive;
  splits_[at(w)].packing += overhead;
  splits_[at(w)].compute += what.handling;
  queue_.add(now + overhead + what.handling, w, event::kind::worker_goes_on);
  return true;
}

/// The program, up to where its next train is full.
bool superstep_run::begin_slice(std::int32_t w, picoseconds now) {
  worker_state& me = workers_[at(w)];
  if (me.program_over || !me.to_send.empty()) return false;  // a train that waits for credit stops its program
  departures& plan = me.plan[0];
  const picoseconds program = work_.workers[at(w)].program;
  const bool more = me.next[0] < plan.full.size();
  const std::int64_t upto = more ? plan.full[me.next[0]].after : plan.messages;
  const auto computed = [&](std::int64_t messages) {
    return plan.messages == 0 ? program : scaled(program, messages, plan.messages);
  };
  const picoseconds compute = computed(upto) - (plan.messages == 0 ? 0 : computed(me.loaded));
  const picoseconds packing = on_.send_message * (upto - me.loaded);
  splits_[at(w)].compute += compute;
  splits_[at(w)].packing += packing;
  me.loaded = upto;
  if (more) {
    me.to_send.push_back(plan.full[me.next[0]++]);
  } else {
    me.program_over = true;
  }
  queue_.add(now + compute + packing, w, event::kind::worker_goes_on);
  return true;
}

/// Whether all messages of a stage, and what announces them, have come.
bool superstep_run::complete(const worker_state& w, stage of) const noexcept {
  if (w.arrived[at(of)] < w.expected[at(of)]) return false;
  if (of == stage::programs) return w.marks_arrived[0] == w.marks_expected[0];
  if (of == stage::onward) return w.marks_arrived[1] == w.marks_expected[1];
  return true;
}

/// What is half full leaves, when nothing can be added to it any more. \return whether there was anything to do
bool superstep_run::flush(std::int32_t w) {
  worker_state& me = workers_[at(w)];
  const bool firsts = complete(me, stage::programs), seconds = complete(me, stage::onward);
  const bool due[stages] = {me.program_over, firsts, firsts && seconds,
                            firsts && seconds && complete(me, stage::handlers)};
  bool any = false;
  for (std::size_t s = 0; s < stages && !any; ++s) {
    if (!due[s] || me.flushed[s]) continue;
    me.flushed[s] = true;
    any = true;
    for (; me.next[s] < me.plan[s].full.size(); ++me.next[s]) me.to_send.push_back(me.plan[s].full[me.next[s]]);
    for (const auto& d : me.plan[s].last) me.to_send.push_back(d);
    send_marks(w, static_cast<stage>(s));
  }
  return any;
}

/// End marks go with the last messages of their stage; where there are none for a neighbour, in a train of their own.
void superstep_run::send_marks(std::int32_t w, stage of) {
  if (!marked() || (of != stage::programs && (of != stage::onward || job_.hops == 1))) return;
  worker_state& me = workers_[at(w)];
  std::vector<departure*> rides(workers_.size());  // by destination: the train that leaves last
  for (auto& d : me.to_send) {
    if (d.of == of) rides[at(d.to)] = &d;
  }
  std::vector<departure> own;
  for (const auto& n : job_.workers[at(w)].neighbours) {
    if (departure* const ride = std::exchange(rides[at(n.to)], nullptr)) {
      ride->mark = true;
      ride->bytes += mark_bytes;
    } else {
      own.push_back({0, n.to, n.how, of, true, 0, mark_bytes, 0});
    }
  }
  me.to_send.insert(me.to_send.end(), own.begin(), own.end());
}

// --- trains ---

const line& superstep_run::line_of(distance how) const noexcept {
  static constexpr line none{};
  switch (how) {
    case distance::self: return none;
    case distance::rank: return on_.within_rank;
    case distance::node: return on_.within_node;
    case distance::network: break;
  }
  return on_.between_nodes;
}

std::uint32_t superstep_run::new_train() {
  if (free_trains_.empty()) {
    trains_.emplace_back();
    return static_cast<std::uint32_t>(trains_.size() - 1);
  }
  const auto id = free_trains_.back();
  free_trains_.pop_back();
  return id;
}

void superstep_run::hand_over(std::int32_t w, picoseconds now) {
  worker_state& me = workers_[at(w)];
  const std::uint32_t id = new_train();
  trains_[id] = {*me.sending, w, now};
  me.sending.reset();
  const departure& what = trains_[id].what;
  ++trains_sent_;
  bytes_sent_ += what.bytes;
  switch (what.how) {
    case distance::self: me.inbox.push_back(id); break;
    case distance::rank: {
      const line& by = on_.within_rank;
      queue_.add(now + by.latency + by.for_bytes(what.bytes), what.to, event::kind::train_arrives, id);
      break;
    }
    case distance::node:
    case distance::network: over_the_network(id, line_of(what.how), now);
  }
}

/// A process begins a train when its line is free, and between nodes when the node's NIC is, too. While one that asks
/// waits for its answer others leave: the network takes no place for it. It keeps its place of the budget until the
/// answer has come, as each train does that the transport sends synchronously.
void superstep_run::over_the_network(std::uint32_t id, const line& by, picoseconds now) {
  const train& t = trains_[id];
  const worker_place& from = job_.workers[at(t.from)];
  const bool injected = t.what.how == distance::network;
  const picoseconds on_line = by.for_bytes(t.what.bytes) + by.gap;
  const picoseconds in_nic = injected ? on_.to_inject(t.what.bytes) : 0;
  picoseconds begin = std::max(now, line_free_[at(from.rank)]);
  if (injected) {
    begin = std::max(begin, nic_free_[at(from.node)]);
    nic_free_[at(from.node)] = begin + in_nic;
    nic_busy_[at(from.node)] += in_nic;
  }
  line_free_[at(from.rank)] = begin + on_line;
  line_busy_[at(from.rank)] += on_line;
  const picoseconds bytes_out = std::max(by.for_bytes(t.what.bytes), in_nic);
  if (t.what.of == stage::programs) {
    const picoseconds confirmed = t.what.bytes > unconfirmed_bytes ? by.answer : by.for_answer(t.what.bytes);
    queue_.add(begin + confirmed + bytes_out, t.from, event::kind::credit_returns);
  }
  begin += by.for_answer(t.what.bytes);
  if (injected && links_.cross(from.node, job_.workers[at(t.what.to)].node)) {
    queue_.add(begin, t.from, event::kind::transfer_begins, id);
  } else {
    queue_.add(begin + bytes_out + by.latency, t.what.to, event::kind::train_arrives, id);
  }
}

void superstep_run::train_arrives(std::uint32_t id, picoseconds now) {
  const std::int32_t w = trains_[id].what.to;
  workers_[at(w)].inbox.push_back(id);
  if (workers_[at(w)].idle_since >= 0) go_on(w, now);
}

void superstep_run::unloaded(std::int32_t w, std::uint32_t id, picoseconds now) {
  worker_state& me = workers_[at(w)];
  const departure what = trains_[id].what;
  free_trains_.push_back(id);
  me.arrived[at(what.of)] += what.messages;
  if (what.mark) ++me.marks_arrived[hop_of(what.of)];
  if (what.of == stage::programs && what.how == distance::rank) {  // the empty train goes home
    queue_.add(now + on_.within_rank.latency, trains_[id].from, event::kind::credit_returns);
  }
  const auto& a = me.arrived;
  const auto& e = me.expected;
  if (what.of == stage::programs) let_handlers_send(me, stage::onward, a[0], e[0]);
  if (what.of != stage::handlers) let_handlers_send(me, stage::handlers, a[0] + a[1], e[0] + e[1]);
  if (what.of == stage::handlers) let_handlers_send(me, stage::returning, a[2], e[2]);
}

/// Handlers send evenly while they run.
void superstep_run::let_handlers_send(worker_state& w, stage of, std::int64_t arrived, std::int64_t expected) {
  const auto& plan = w.plan[at(of)];
  auto& next = w.next[at(of)];
  while (next < plan.full.size() &&
         plan.full[next].after <= scaled(plan.messages, arrived, std::max<std::int64_t>(1, expected))) {
    w.to_send.push_back(plan.full[next++]);
  }
}

// --- shared links ---

void superstep_run::expect_next_end() {
  const picoseconds end = links_.next_end();
  if (end >= 0) queue_.add(end, 0, event::kind::transfers_change, ++links_version_);
}

void superstep_run::transfers_change(picoseconds now, std::uint32_t version) {
  if (version != links_version_) return;  // another transfer has begun meanwhile
  for (const auto id : links_.ended(now)) {
    const departure& what = trains_[id].what;
    queue_.add(now + line_of(what.how).latency, what.to, event::kind::train_arrives, id);
  }
  expect_next_end();
}

void superstep_run::add_to(superstep_result& sum) const {
  sum.trains += trains_sent_;
  sum.bytes += bytes_sent_;
  sum.injecting = *std::max_element(nic_busy_.begin(), nic_busy_.end());
  sum.sending = *std::max_element(line_busy_.begin(), line_busy_.end());
}

}  // namespace shunt::simulate
