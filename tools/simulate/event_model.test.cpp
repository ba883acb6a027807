// The event model against formulas, in whole picoseconds.
#include "event_model.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>

#include "shared_links.hpp"

using namespace shunt::simulate;

namespace {

constexpr std::int64_t batch_head = 32, mark = 64, token = 64;

/// Workers on nodes of their own, each the neighbour of all others.
placed_job far_apart(int workers, std::int64_t train_bytes) {
  placed_job job;
  job.all_workers = job.all_nodes = job.ranks = job.nodes = workers;
  job.train_bytes = train_bytes;
  job.regular = 1'000'000;
  for (int w = 0; w < workers; ++w) {
    worker_place here{w, w, w, {}, {}};
    for (int d = 1; d < workers; ++d) here.neighbours.push_back({(w + d) % workers, distance::network});
    for (int d = 1; d < workers; d *= 2) here.before.push_back({(w + workers - d) % workers, distance::network});
    job.workers.push_back(here);
  }
  return job;
}

/// The same, as the workers of one rank.
placed_job one_rank(int workers, std::int64_t train_bytes) {
  placed_job job = far_apart(workers, train_bytes);
  job.ranks = job.nodes = job.all_nodes = 1;
  for (auto& w : job.workers) {
    w.rank = w.node = 0;
    for (auto& n : w.neighbours) n.how = distance::rank;
    for (auto& n : w.before) n.how = distance::rank;
  }
  return job;
}

superstep_work of_workers(int workers, ending how) {
  return {"finish()", how, std::vector<worker_work>(static_cast<std::size_t>(workers))};
}

machine slow_network() {
  machine m;
  m.between_nodes = {5'000'000, 300'000, 200'000, 0, 8'000'000};  // L 5 us, o_s 0.3, o_r 0.2, 125 MB/s
  m.within_rank = {100'000, 20'000, 30'000, 0, 100'000};
  m.send_message = 2'000;
  return m;
}

auto& sends(superstep_work& work, std::size_t worker) { return work.workers[worker].loads[0]; }

}  // namespace

/// All to all, itself included, `messages` of 8 bytes for each, of which one takes its handler 3,333 ps.
superstep_work balanced(int workers, std::int64_t messages) {
  auto work = of_workers(workers, ending::marks);
  for (int w = 0; w < workers; ++w) {
    auto& mine = work.workers[static_cast<std::size_t>(w)];
    mine.program = 123'456'789;
    for (int d = 0; d < workers; ++d) {
      mine.loads[0].push_back(
          {(w + d) % workers, d == 0 ? distance::self : distance::network, messages, messages * 8, messages * 3'333});
    }
  }
  return work;
}

TEST_CASE("event model: without a network a balanced superstep is program, loading and handlers, exactly") {
  const int workers = GENERATE(1, 2, 3, 8);
  const std::int64_t messages = GENERATE(0, 1, 7, 1000, 4096);
  machine ideal = slow_network();
  ideal.between_nodes.answer = 9'000'000;  // every train asks
  ideal.make_network_ideal();
  const auto work = balanced(workers, messages);
  CAPTURE(workers, messages);
  for (const auto& job : {far_apart(workers, 65'536), one_rank(workers, 65'536)}) {  // one train for each other worker
    CHECK(simulate_events(ideal, job, {work}, 1).time == 123'456'789 + workers * messages * (2'000 + 3'333));
  }
  // In many trains workers differ in when theirs are full; the work is the same.
  const auto r = simulate_events(ideal, far_apart(workers, 1024), {work}, 1).supersteps[0];
  CHECK(r.sum.compute == workers * (123'456'789 + workers * messages * 3'333));
  CHECK(r.sum.packing == workers * workers * messages * 2'000);
  CHECK(r.sum.network == 0);
  CHECK(r.sum.sum() == workers * r.time);
}

TEST_CASE("event model: one message between two nodes takes o_s + L + bytes G + o_r, and its mark rides with it") {
  const machine m = slow_network();
  auto work = of_workers(2, ending::marks);
  work.workers[0].program = work.workers[1].program = 1'000'000'000;
  sends(work, 0).push_back({1, distance::network, 1, 8, 70'000});
  const auto r = simulate_events(m, far_apart(2, 1024), {work}, 1);
  const line& n = m.between_nodes;
  const picoseconds loaded = 1'000'000'000 + m.send_message;
  const picoseconds here = loaded + n.send + n.for_bytes(8 + batch_head + mark) + n.latency;
  // Worker 1 handles worker 0's message and its mark; then both tell each other.
  const picoseconds ended = here + n.receive + 70'000;
  CHECK(r.time == ended + n.send + n.latency + n.for_bytes(token) + n.receive);
}

TEST_CASE("event model: a stream of full trains is bound by G, and twice the G takes twice as long") {
  machine m = slow_network();
  m.send_message = 0;
  m.between_nodes.latency = m.between_nodes.send = m.between_nodes.receive = 0;
  auto work = of_workers(2, ending::barrier);
  const std::int64_t trains = 500, a_train = (1024 - batch_head) / 8;
  sends(work, 0).push_back({1, distance::network, trains * a_train, trains * a_train * 8, 0});
  const auto once = simulate_events(m, far_apart(2, 1024), {work}, 1).supersteps[0];
  CHECK(once.time == trains * m.between_nodes.for_bytes(1024) + m.between_nodes.for_bytes(token));
  CHECK(once.binds == resource::line);
  CHECK(once.trains == trains);
  m.between_nodes.byte_fs *= 2;
  const auto twice = simulate_events(m, far_apart(2, 1024), {work}, 1).supersteps[0];
  CHECK(twice.time == 2 * once.time);
}

TEST_CASE("event model: g comes after each train, whatever it carries") {
  machine m;
  m.between_nodes = {0, 0, 0, 1'000'000, 1'000};
  auto work = of_workers(2, ending::barrier);
  sends(work, 0).push_back({1, distance::network, 100, 100 * 8, 0});
  auto job = far_apart(2, batch_head + 8);
  CHECK(simulate_events(m, job, {work}, 1).time == 99 * (1'000'000 + 40) + 40 + 64);
}

TEST_CASE("event model: processes of a node share its injection limit, those of different nodes do not") {
  machine m;
  m.injection = 1'000'000'000;  // 1000 ps a byte
  auto work = of_workers(4, ending::barrier);
  const std::int64_t trains = 200, a_train = (1024 - batch_head) / 8;
  for (std::size_t w = 0; w < 2; ++w) {
    sends(work, w).push_back(
        {static_cast<std::int32_t>(w) + 2, distance::network, trains * a_train, trains * a_train * 8, 0});
  }
  auto job = far_apart(4, 1024);
  const auto apart = simulate_events(m, job, {work}, 1).supersteps[0];
  CHECK(apart.time == trains * 1024 * 1000 + 2 * token * 1000);
  job.workers[1].node = 0;
  const auto together = simulate_events(m, job, {work}, 1).supersteps[0];
  CHECK(together.time == 2 * trains * 1024 * 1000 + 2 * token * 1000);
  CHECK(together.binds == resource::injection);
}

TEST_CASE("event model: a ring of nodes takes what one node takes, all to all as often as there are others") {
  machine m = slow_network();
  m.between_nodes.latency = m.between_nodes.send = m.between_nodes.receive = 0;
  m.send_message = 0;
  const int workers = GENERATE(2, 4, 8);
  const std::int64_t trains = 50, a_train = (1024 - batch_head) / 8;
  const auto time_to = [&](int others) {
    auto work = of_workers(workers, ending::barrier);
    for (int w = 0; w < workers; ++w) {
      for (int d = 1; d <= others; ++d) {
        sends(work, static_cast<std::size_t>(w))
            .push_back({(w + d) % workers, distance::network, trains * a_train, trains * a_train * 8, 0});
      }
    }
    return simulate_events(m, far_apart(workers, 1024), {work}, 1).time;
  };
  int rounds = 0;
  for (int reach = 1; reach < workers; reach *= 2) ++rounds;
  const picoseconds tokens = rounds * m.between_nodes.for_bytes(token);
  CHECK(time_to(1) - tokens == trains * m.between_nodes.for_bytes(1024));
  CHECK(time_to(workers - 1) - tokens == (workers - 1) * trains * m.between_nodes.for_bytes(1024));
}

TEST_CASE("event model: a program without credit waits until its trains have left") {
  machine m;
  m.between_nodes = {0, 0, 0, 0, 1'000'000};
  auto work = of_workers(2, ending::barrier);
  const std::int64_t a_train = (1024 - batch_head) / 8;
  sends(work, 0).push_back({1, distance::network, 10 * a_train, 10 * a_train * 8, 0});
  auto job = far_apart(2, 1024);
  job.regular = 1;
  const auto r = simulate_events(m, job, {work}, 1).supersteps[0];
  CHECK(r.time == 10 * 1024 * 1000 + token * 1000);  // the line was busy all the time
  CHECK(r.slowest.waiting == 0);
}

TEST_CASE("event model: what a worker's time goes to adds up to the superstep's time") {
  const machine m = slow_network();
  auto work = of_workers(5, ending::marks);
  for (int w = 0; w < 5; ++w) {
    work.workers[static_cast<std::size_t>(w)].program = w * 10'000'000;
    for (int d = 0; d < 5; ++d) {
      sends(work, static_cast<std::size_t>(w))
          .push_back(
              {d, d == w ? distance::self : distance::network, 100 + w * d, (100 + w * d) * 8, (100 + w * d) * 1'500});
    }
  }
  const auto r = simulate_events(m, far_apart(5, 512), {work, work}, 3);
  picoseconds sum = 0;
  for (const auto& s : r.supersteps) sum += s.time;
  CHECK(sum == r.time);
  CHECK(r.supersteps[0].slowest.sum() <= r.supersteps[0].time);
  CHECK(r.supersteps[0].slowest.sum() > r.supersteps[0].time - 3 * m.between_nodes.latency);
}

TEST_CASE("event model: a receiver without o_r is another machine") {
  // The mutant that a validation has to find: half of the cost of short trains is gone.
  machine m = slow_network();
  auto work = of_workers(2, ending::marks);
  for (std::size_t w = 0; w < 2; ++w) {
    sends(work, w).push_back({w == 0 ? 1 : 0, distance::network, 1000, 8000, 1'000'000});
  }
  m.between_nodes.byte_fs = 0;
  const auto right = simulate_events(m, far_apart(2, 96), {work}, 1).time;
  m.between_nodes.receive = 0;
  CHECK(simulate_events(m, far_apart(2, 96), {work}, 1).time < right * 7 / 10);
}

TEST_CASE("event model: a train that asks takes o_s + R + L + bytes G + o_r, one that is short enough no R") {
  machine m = slow_network();
  m.send_message = 0;
  line& n = m.between_nodes;
  n.eager = GENERATE(1'000, 1'024, 10'000);
  n.answer = 11'000'000;
  auto work = of_workers(2, ending::barrier);
  sends(work, 0).push_back({1, distance::network, 1, 1024 - batch_head, 0});
  const picoseconds asks = n.eager < 1024 ? n.answer : 0;
  const picoseconds to_all = n.send + n.latency + n.for_bytes(token) + n.receive;
  CHECK(simulate_events(m, far_apart(2, 1024), {work}, 1).time ==
        n.send + asks + n.latency + n.for_bytes(1024) + n.receive + to_all);
  // What the validation must find: without R it is another machine.
  n.answer = 0;
  CHECK(simulate_events(m, far_apart(2, 1024), {work}, 1).time ==
        n.send + n.latency + n.for_bytes(1024) + n.receive + to_all);
}

TEST_CASE("event model: trains that ask overlap as far as the budget goes") {
  machine m;
  line& n = m.between_nodes;
  n = {.byte_fs = 1'000'000, .eager = 1'000, .answer = 5'000'000};
  auto work = of_workers(2, ending::barrier);
  const std::int64_t trains = 10, a_train = (1024 - batch_head) / 8;
  sends(work, 0).push_back({1, distance::network, trains * a_train, trains * a_train * 8, 0});
  auto job = far_apart(2, 1024);
  CHECK(simulate_events(m, job, {work}, 1).time == n.answer + trains * 1024 * 1000 + token * 1000);
  job.regular = 1;  // each waits for the answer to the one before
  CHECK(simulate_events(m, job, {work}, 1).time == trains * (n.answer + 1024 * 1000) + token * 1000);
}

TEST_CASE("event model: a train of more than 4,000 bytes keeps its place of the budget until it is received") {
  machine m;
  line& n = m.between_nodes;
  n = {.byte_fs = 1'000'000, .eager = 65'536, .answer = 5'000'000};
  auto work = of_workers(2, ending::barrier);
  const std::int64_t train = GENERATE(2'048, 8'192), trains = 10, a_train = (train - batch_head) / 8;
  sends(work, 0).push_back({1, distance::network, trains * a_train, trains * a_train * 8, 0});
  auto job = far_apart(2, train);
  job.regular = 1;
  const picoseconds confirmed = train > 4'000 ? n.answer : 0;  // the last one arrives without it
  CHECK(simulate_events(m, job, {work}, 1).time == trains * (confirmed + train * 1000) - confirmed + token * 1000);
}

TEST_CASE("event model: a sum goes up a tree and down again, and the tree's root goes on first") {
  machine m;
  m.between_nodes = {1'000'000, 0, 0, 0, 0};
  for (const auto& [workers, ways] : {std::pair{1, 0}, {2, 2}, {4, 4}, {5, 4}, {8, 6}}) {
    const auto job = far_apart(workers, 1024);
    auto sum = of_workers(workers, ending::tree);
    CAPTURE(workers);
    CHECK(simulate_events(m, job, {sum}, 1).time == ways * 1'000'000);
    // Worker 0's next message leaves while the sum is on its way to the others.
    auto more = of_workers(workers, ending::barrier);
    CHECK(simulate_events(m, job, {sum, more}, 1).time >= ways * 1'000'000);
  }
}

TEST_CASE("event model: the same seed gives the same result, another one another") {
  const machine m = slow_network();
  auto work = of_workers(6, ending::marks);
  for (int w = 0; w < 6; ++w) {
    for (int d = 1; d < 6; ++d)
      sends(work, static_cast<std::size_t>(w)).push_back({(w + d) % 6, distance::network, 1000, 8000, 700'000});
  }
  const auto time = [&](std::uint64_t seed) { return simulate_events(m, far_apart(6, 512), {work}, seed).time; };
  CHECK(time(1) == time(1));
  CHECK(time(1) != time(2));
}

TEST_CASE("event model: replies leave while requests are handled, and the superstep lasts until they are") {
  machine ideal;
  auto work = of_workers(2, ending::marks);
  for (std::size_t w = 0; w < 2; ++w) {
    const std::int32_t other = w == 0 ? 1 : 0;
    work.workers[w].program = 1'000'000;
    work.workers[w].loads[0].push_back({other, distance::network, 500, 4000, 500'000});
    work.workers[w].loads[2].push_back({other, distance::network, 500, 4000, 250'000});
  }
  // Each sends its replies when it has handled the requests and their mark, and then handles the other's.
  CHECK(simulate_events(ideal, far_apart(2, 8192), {work}, 1).time == 1'000'000 + 500'000 + 250'000);
}

TEST_CASE("shared links: transfers get max-min fair shares") {
  shared_links links({{"a", 0, 2, 1000}, {"b", 2, 4, 3000}});
  CHECK_FALSE(links.cross(0, 1));
  CHECK(links.cross(0, 2));
  // Two leave group a, at 500 bytes a second each; one enters b from nowhere's group, and has 2,000 of its 3,000.
  links.begin(0, 1, 0, 2, 500, 0);
  links.begin(0, 2, 1, 3, 1000, 0);
  links.begin(0, 3, 9, 2, 1000, 0);
  CHECK(links.next_end() == second / 2 + 1);
  CHECK(links.ended(second / 2 + 1) == std::vector<std::uint32_t>{3});
  CHECK(links.ended(second + 2) == std::vector<std::uint32_t>{1});
  // The other has the whole link now.
  CHECK(std::abs(links.next_end() - (second + second / 2)) < 5);
}

TEST_CASE("event model: trains that leave a group share its link") {
  machine m;
  m.groups = {{"a", 0, 2, 1'000'000'000}};
  auto work = of_workers(4, ending::barrier);
  const std::int64_t trains = 100, a_train = (1024 - batch_head) / 8;
  for (std::size_t w = 0; w < 2; ++w) {
    sends(work, w).push_back(
        {static_cast<std::int32_t>(w) + 2, distance::network, trains * a_train, trains * a_train * 8, 0});
  }
  const auto r = simulate_events(m, far_apart(4, 1024), {work}, 1);
  const picoseconds formula = 2 * trains * 1024 * 1000;
  CHECK(r.time >= formula);
  CHECK(r.time <= formula + formula / 1000);
}
