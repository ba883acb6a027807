// A recorded job on a described machine: the library's own places and trains, and what workers have to do.
#include "placement.hpp"

#include <catch2/catch.hpp>
#include <map>
#include <numeric>
#include <shunt/pgas.hpp>

#include "event_model.hpp"

using namespace shunt;
using namespace shunt::simulate;

namespace {

machine of(int nodes, int ranks, int workers) {
  machine m;
  m.nodes = nodes;
  m.ranks_a_node = ranks;
  m.workers_a_rank = workers;
  return m;
}

pgas::options job_of(int pes) {
  pgas::options o;
  o.pes = pes;
  o.transport = "threads";
  return o;
}

/// Each PE sends `messages` to each PE, itself included, and each is answered if it is asked.
pgas::recording all_to_all(const pgas::options& job, const std::vector<pgas::recording::block>& kept, int messages,
                           bool ask = false) {
  pgas::recording into(kept);
  const pgas::record_next_job recorded(into);
  pgas::run(job, [&](pgas::pe& me) {
    pgas::symmetric<std::int64_t> count(me, 0);
    me.barrier();
    pgas::actor_of counter(count);
    for (int i = 0; i < messages; ++i) {
      for (int to = 0; to < me.count(); ++to) {
        if (ask) {
          counter.ask(to, [](std::int64_t& c) { return ++c; }, [](std::int64_t&, std::int64_t) {});
        } else {
          counter.send(to, [](std::int64_t& c) { ++c; });
        }
      }
    }
    counter.finish();
    static_cast<void>(me.sum(*count));
  });
  return into;
}

std::int64_t messages_of(const std::vector<load>& loads) {
  return std::accumulate(loads.begin(), loads.end(), std::int64_t{0},
                         [](std::int64_t sum, const load& l) { return sum + l.messages; });
}

}  // namespace

TEST_CASE("recording: what was announced is withdrawn when no job has begun") {
  pgas::recording into;
  {
    const pgas::record_next_job next(into);
  }
  pgas::run(job_of(2), [](pgas::pe& me) { me.barrier(); });
  CHECK(into.pes() == 0);
}

TEST_CASE("recording: it has each pair of PEs, and where the supersteps end") {
  const int pes = GENERATE(1, 2, 5);
  const auto seen = all_to_all(job_of(pes), {}, 3);
  CHECK(seen.pes() == pes);
  std::map<std::string, int> ends;
  std::uint64_t messages = 0;
  for (const auto& s : seen.supersteps()) {
    ++ends[s.ended_by];
    for (const auto& f : s.flows) {
      CHECK(s.ended_by == "finish()");
      CHECK_FALSE(f.by_handlers);
      CHECK_FALSE(f.requests);
      messages += f.messages;
      CHECK(f.pairs.size() == static_cast<std::size_t>(pes * pes));
      for (const auto& p : f.pairs) CHECK(p.messages == 3);
    }
  }
  CHECK(messages == static_cast<std::uint64_t>(3 * pes * pes));
  CHECK(ends["reduce()"] == 1);
  CHECK(ends["barrier()"] == 1);
}

TEST_CASE("recording: of PEs that are not kept there are sums, and a job that is not announced is not recorded") {
  const auto seen = all_to_all(job_of(8), {{2, 4}, {7, 8}}, 1);
  for (const auto& s : seen.supersteps()) {
    CHECK(s.pe_ps.size() == 3);
    for (const auto& f : s.flows) {
      CHECK(f.messages == 64);
      REQUIRE(f.pairs.size() == 24);
      CHECK(f.pairs.front().from == 2);
      CHECK(f.pairs.back().from == 7);
    }
  }
  pgas::recording none;
  pgas::run(job_of(2), [](pgas::pe& me) { me.barrier(); });
  CHECK(none.pes() == 0);
}

TEST_CASE("placement: every message comes to a worker, over one hop and over two") {
  const int hops = GENERATE(1, 2);
  const auto m = of(3, 2, 2);
  auto wanted = job_of(24);
  wanted.hops = hops;
  const placement where(m, wanted);
  CHECK(where.plan().workers == 12);
  CHECK(where.job().nodes == 3);
  CHECK(where.job().ranks == 6);
  const auto work = where.work_of(all_to_all(job_of(24), where.kept(), 2));
  REQUIRE(work.size() == 1);
  std::int64_t first = 0, onward = 0;
  std::vector<std::int64_t> handled(12);
  for (std::size_t w = 0; w < 12; ++w) {
    first += messages_of(work[0].workers[w].loads[0]);
    onward += messages_of(work[0].workers[w].loads[1]);
    for (const auto& l : work[0].workers[w].loads[0]) {
      CHECK((l.how == distance::self) == (l.to == static_cast<int>(w)));
      CHECK((l.how == distance::rank) == (l.to != static_cast<int>(w) && l.to / 2 == static_cast<int>(w) / 2));
      CHECK((l.how == distance::network) == (l.to / 4 != static_cast<int>(w) / 4));
    }
  }
  CHECK(first == 24 * 24 * 2);
  CHECK((onward > 0) == (hops == 2));
  CHECK(simulate_events(m, where.job(), work, 1).supersteps[0].ended_by == "finish()");
}

TEST_CASE("placement: requests are answered from where they went to") {
  const auto m = of(2, 1, 1);
  const placement where(m, job_of(2));
  const auto work = where.work_of(all_to_all(job_of(2), where.kept(), 5, true));
  REQUIRE(work.size() == 1);
  for (const auto& w : work[0].workers) {
    CHECK(messages_of(w.loads[0]) == 10);
    CHECK(messages_of(w.loads[2]) == 10);
  }
  static_cast<void>(simulate_events(m, where.job(), work, 1));
}

TEST_CASE("placement: of many nodes some are followed, and each worker gets as much as in the whole job") {
  auto wanted = job_of(64);
  const auto m = of(16, 1, 4);
  const placement whole(m, wanted), part(m, wanted, 1);
  CHECK(whole.job().workers.size() == 64);
  REQUIRE(part.job().workers.size() == 8);
  CHECK(part.job().all_workers == 64);
  CHECK(placement(m, wanted, placement::most_buffers, 3).job().nodes == 3);
  const auto seen = all_to_all(job_of(64), part.kept(), 3);
  const auto work = part.work_of(seen);
  std::vector<std::int64_t> arrives(8);
  for (const auto& w : work[0].workers) {
    for (const auto& l : w.loads[0]) arrives[static_cast<std::size_t>(l.to)] += l.messages;
  }
  for (const auto n : arrives) CHECK(n == 3 * 64);
  const auto all = whole.work_of(all_to_all(job_of(64), whole.kept(), 3));
  machine slow = m;
  slow.between_nodes = {5'000'000, 300'000, 200'000, 0, 8'000'000};
  // The program's own time is measured, and differs from run to run.
  const auto time = [&](std::vector<superstep_work> of_all, const placed_job& job) {
    for (auto& s : of_all) {
      for (auto& w : s.workers) {
        w.program = 1'000'000;
        for (auto& stage : w.loads) {
          for (auto& l : stage) l.handling = l.messages * 1'000;
        }
      }
    }
    return static_cast<double>(simulate_events(slow, job, of_all, 1).time);
  };
  CHECK(time(work, part.job()) == Approx(time(all, whole.job())).epsilon(0.05));
}

TEST_CASE("job_plan: it is what a job finds out for itself") {
  const auto plan = pgas::job_plan::of(job_of(6), {3});
  int hops = 0;
  std::size_t bytes = 0;
  auto wanted = job_of(6);
  wanted.workers = 3;
  pgas::run(wanted, [&](pgas::pe& me) {
    if (me.index() != 0) return;
    hops = me.hops();
    bytes = me.train_bytes();
  });
  CHECK(plan.hops == hops);
  CHECK(plan.train_bytes == bytes);
  CHECK(plan.workers == 3);
  CHECK(plan.next_hop(0, 2) == 2);
}
