// Where the PEs of a job live, which way messages go, and how large trains are.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include <shunt/base/error.hpp>
#include <shunt/pgas/detail/buffer_plan.hpp>
#include <shunt/pgas/detail/job_layout.hpp>

using namespace shunt;
using pgas::detail::buffer_plan;
using pgas::detail::job_layout;

namespace {

std::size_t at(int i) { return static_cast<std::size_t>(i); }

/// One PE a worker, all in one process.
job_layout of_workers(int workers) { return job_layout::over(workers, {workers}, 0); }

}  // namespace

TEST_CASE("job_layout: PEs lie in blocks, in the order of ranks and workers, none of which is empty") {
  const int pes = GENERATE(1, 2, 5, 16, 33);
  const std::vector<int> workers = GENERATE(std::vector{1}, std::vector{4}, std::vector{2, 3}, std::vector{1, 8, 2});
  const auto ranks = static_cast<int>(workers.size());
  if (pes < ranks) return;  // job refuses it
  CAPTURE(pes, workers);
  const auto whole = job_layout::over(pes, workers, 0);
  CHECK(whole.pes == pes);
  REQUIRE(whole.worker_of.size() == at(pes));
  REQUIRE(whole.first_pe.size() == at(whole.workers + 1));
  REQUIRE(whole.rank_of.size() == at(whole.workers));
  CHECK(whole.first_pe.front() == 0);
  CHECK(whole.first_pe.back() == pes);
  CHECK(std::ranges::is_sorted(whole.rank_of));
  for (int w = 0; w < whole.workers; ++w) {
    CHECK(whole.first_pe[at(w)] < whole.first_pe[at(w + 1)]);
    for (int p = whole.first_pe[at(w)]; p < whole.first_pe[at(w + 1)]; ++p) CHECK(whole.worker_of[at(p)] == w);
  }
  int first = 0;
  for (int r = 0; r < ranks; ++r) {
    const auto mine = job_layout::over(pes, workers, r);
    CHECK(mine.worker_of == whole.worker_of);  // all ranks plan the same
    CHECK(mine.first_pe == whole.first_pe);
    CHECK(mine.first_worker_here == first);
    CHECK(mine.workers_here == std::ranges::count(whole.rank_of, r));
    CHECK(mine.workers_here <= workers[at(r)]);
    const int pes_there = whole.first_pe[at(first + mine.workers_here)] - whole.first_pe[at(first)];
    CHECK(pes_there == pes * (r + 1) / ranks - pes * r / ranks);
    CHECK(mine.workers_here == std::min(pes_there, workers[at(r)]));
    first += mine.workers_here;
  }
  CHECK(first == whole.workers);
}

TEST_CASE("job_layout: the grid of two hops is the smallest square that holds all workers") {
  const std::vector<std::pair<int, int>> known{{1, 1}, {2, 2}, {4, 2}, {5, 3}, {9, 3}, {10, 4}, {16, 4}, {17, 5}};
  for (const auto& [workers, columns] : known) {
    CHECK(job_layout::square_columns(workers) == columns);
    CHECK(of_workers(workers).columns == columns);
  }
}

TEST_CASE("job_layout: in one hop every worker loads for each PE's own worker, and all others are its neighbours") {
  const auto plan = job_layout::over(23, {3, 4}, 1);
  for (int from = 0; from < plan.workers; ++from) {
    std::vector<int> neighbours{99};
    CHECK(plan.hops_from(from, 1, neighbours) == plan.worker_of);
    std::vector<int> others;
    for (int w = 0; w < plan.workers; ++w) {
      if (w != from) others.push_back(w);
    }
    CHECK(neighbours == others);
  }
}

TEST_CASE("job_layout: over two hops each message arrives, and marks go both ways between neighbours") {
  for (int workers = 1; workers <= 40; ++workers) {
    CAPTURE(workers);
    const auto plan = of_workers(workers);
    std::vector<std::vector<std::uint16_t>> via(at(workers));
    std::vector<std::vector<int>> neighbours(at(workers));
    for (int w = 0; w < workers; ++w) via[at(w)] = plan.hops_from(w, 2, neighbours[at(w)]);
    for (int w = 0; w < workers; ++w) {
      REQUIRE(neighbours[at(w)].size() <= at(plan.buffers_of_two_hops()) - 2);
      for (const int n : neighbours[at(w)]) {
        REQUIRE(n != w);
        REQUIRE(std::ranges::count(neighbours[at(n)], w) == 1);  // as many marks come as a mailbox waits for
      }
      for (int to = 0; to < workers; ++to) {
        const int hop = via[at(w)][at(to)];
        REQUIRE((hop == w) == (to == w));
        REQUIRE((to == w || std::ranges::count(neighbours[at(w)], hop) == 1));
        REQUIRE(via[at(hop)][at(to)] == to);
      }
    }
  }
}

TEST_CASE("job_layout: where ranks have equal numbers of workers, a message crosses the network at most once") {
  for (const int ranks : {2, 3, 4, 16}) {
    for (const int each : {2, 3, 8}) {
      CAPTURE(ranks, each);
      const auto plan = job_layout::over(ranks * each, std::vector<int>(at(ranks), each), 0);
      REQUIRE(plan.columns == each);
      std::vector<int> neighbours;
      std::vector<std::vector<std::uint16_t>> via(at(plan.workers));
      for (int w = 0; w < plan.workers; ++w) {
        via[at(w)] = plan.hops_from(w, 2, neighbours);
        REQUIRE(neighbours.size() == at(plan.buffers_of_two_hops()) - 2);
        for (int to = 0; to < plan.workers; ++to) {
          const int hop = via[at(w)][at(to)];
          const bool crosses = plan.rank_of[at(w)] != plan.rank_of[at(hop)];
          const bool crosses_again = plan.rank_of[at(hop)] != plan.rank_of[at(to)];
          REQUIRE(crosses + crosses_again == (plan.rank_of[at(w)] != plan.rank_of[at(to)]));
        }
      }
      for (int w = 0; w < plan.workers; ++w)
        for (int to = 0; to < plan.workers; ++to) REQUIRE(via[at(via[at(w)][at(to)])][at(to)] == to);
    }
  }
  // Too many buffers, one worker a rank, different numbers of workers, one rank: a square.
  CHECK(job_layout::over(2048, std::vector<int>(1024, 2), 0).columns == 46);
  CHECK(job_layout::over(16, std::vector<int>(16, 1), 0).columns == 4);
  CHECK(job_layout::over(7, {3, 4}, 0).columns == 3);
  CHECK(job_layout::over(16, {16}, 0).columns == 4);
}

TEST_CASE("buffer_plan: between hosts trains may be longer, as far as the budget goes, and what is wanted stays") {
  const auto bytes = [](std::size_t budget, int pes, std::size_t wanted, std::size_t longest) {
    return buffer_plan::of(budget, pes, pes, wanted, 0, 0, longest).capacity;
  };
  constexpr std::size_t budget = std::size_t{16} << 20;
  CHECK(bytes(budget, 2, 0, pgas::usual_train) == 16'384);
  CHECK(bytes(budget, 2, 0, pgas::long_train) == 64'512);
  CHECK(bytes(budget, 32, 0, pgas::long_train) == 32'768);
  CHECK(bytes(budget, 64, 0, pgas::long_train) == bytes(budget, 64, 0, pgas::usual_train));
  CHECK(bytes(budget, 2, 8'192, pgas::long_train) == 8'192);
}

TEST_CASE("buffer_plan: a budget that is too small is refused, and says how much is enough") {
  const int workers = GENERATE(1, 3, 64);
  const std::size_t capacity = GENERATE(0U, 512U, 1000U, 65536U);
  std::string said;
  try {
    static_cast<void>(buffer_plan::of(100, workers, workers, capacity, 0));
  } catch (const usage_error& e) {
    said = e.what();
  }
  REQUIRE_THAT(said, Catch::StartsWith("--budget: 100 bytes a worker are too few for trains of ") &&
                         Catch::Contains("at least "));
  const std::size_t enough = std::stoul(said.substr(said.find("at least ") + 9));
  CHECK(buffer_plan::of(enough, workers, workers, capacity, 0).regular >= 2);
  CHECK_THROWS_AS(buffer_plan::of(enough - 1, workers, workers, capacity, 0), usage_error);
}

TEST_CASE(
    "buffer_plan: two hops are for many workers whose trains would be too short, and for jobs that ask for them") {
  constexpr std::size_t large = std::size_t{1} << 30, small = std::size_t{256} << 10;
  CHECK(buffer_plan::of(large, 64, 64, 0, 0).hops == 1);
  CHECK(buffer_plan::of(small, 64, 64, 0, 0).hops == 2);
  CHECK(buffer_plan::of(small, 4, 4, 0, 0).hops == 1);
  CHECK(buffer_plan::of(large, 4, 4, 0, 2).hops == 2);
  CHECK_FALSE(buffer_plan::of(large, 4, 4, 0, 2).plain);
  CHECK(buffer_plan::of(small, 64, 64, 0, 1).hops == 1);
  CHECK(buffer_plan::of(large, 8, 4, 0, 0).plain);
  CHECK_FALSE(buffer_plan::of(small, 512, 4, 0, 0).plain);  // routed
  CHECK_FALSE(buffer_plan::of(large, 64, 4, 0, 0).requests_routed);
  CHECK(buffer_plan::of(large, 65, 4, 0, 0).requests_routed);
  CHECK_FALSE(buffer_plan::of(large, 65, 65, 0, 1).requests_routed);  // as many buffers either way
  CHECK_FALSE(buffer_plan::of(small, 512, 4, 0, 0).requests_routed);
}
