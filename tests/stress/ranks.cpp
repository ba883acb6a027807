/// Jobs whose ranks share the memory of their trains, with each rank a thread of this process: so a race detector sees
/// what ranks do to each other. tests/ranks has the same between processes.
///
///   test_stress_ranks [TURNS]     as often, 1 unless said otherwise
#include <fcntl.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include <shunt/base/random.hpp>
#include <shunt/pgas.hpp>
#include <shunt/pgas/detail/job.hpp>
#include <shunt/transport/detail/job_memory.hpp>
#include <shunt/transport/detail/processes.hpp>

namespace {

using namespace shunt;

void expect(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "test_stress_ranks: %s\n", what);
  std::_Exit(1);
}

/// Runs the program on every PE of as many ranks.
void run(int ranks, const pgas::options& wanted, const std::function<void(pgas::pe&)>& program) {
  const auto trains = transport::detail::memory_file("test trains");
  const auto meeting = transport::detail::job_memory::make(ranks, trains.get());
  std::vector<std::thread> all;
  for (int r = 0; r < ranks; ++r) {
    all.emplace_back([&, r] {
      const auto carrier =
          transport::detail::open_processes({r, ranks, meeting.get(), trains.get()}, {.deadline = wanted.deadline});
      pgas::detail::job whole(wanted, *carrier);
      whole.run(program);
    });
  }
  for (auto& r : all) r.join();
}

/// Messages, requests, payloads and collectives; a superstep with nothing in it; PEs that sleep while others compute.
void program(pgas::pe& me) {
  constexpr std::size_t answers = 64;  // behind the slots
  pgas::symmetric<std::vector<long>> part(me, answers + 1);
  pgas::actor_of table(part);
  const auto pes = static_cast<std::uint64_t>(me.count());
  for (int epoch = 0; epoch < 5; ++epoch) {
    const int n = epoch == 2 ? 0 : 400;
    const counter_random random(static_cast<std::uint64_t>(epoch));
    const auto place = [&](int pe, int i) { return random.below(static_cast<std::uint64_t>(1000 * pe + i), 64 * pes); };
    for (int i = 0; i < n; ++i) {
      const auto at = place(me.index(), i);
      table.send(static_cast<int>(at % pes), [slot = at / pes](auto& values) { ++values[slot]; });
    }
    table.finish();
    const long all = me.sum(std::accumulate(part->begin(), part->end(), 0L));
    expect(all == static_cast<long>(n) * me.count(), "messages were lost, or came twice");
    for (int i = 0; i < n; ++i) {
      const auto at = place(me.index(), i);
      table.ask(
          static_cast<int>(at % pes), [slot = at / pes](auto& values) { return values[slot]; },
          [](auto& values, long value) { values[answers] += value > 0 ? 1 : 0; });
    }
    table.finish();
    expect((*part)[answers] == n, "answers were lost");
    std::fill(part->begin(), part->end(), 0);
    if (me.index() == epoch) std::this_thread::sleep_for(std::chrono::milliseconds(2));  // others fall asleep
    me.barrier();
  }
  const auto everywhere = me.gather(me.rank());
  expect(everywhere.size() == pes, "a gather has not all parts");
}

}  // namespace

int main(int argc, char** argv) {
  const int turns = argc > 1 ? std::atoi(argv[1]) : 1;
  for (int turn = 0; turn < turns; ++turn) {
    for (const int ranks : {2, 3}) {
      for (const int hops : {1, 2}) {
        pgas::options wanted;
        wanted.pes = 2 * ranks;
        wanted.workers = 2;
        wanted.hops = hops;
        wanted.train_bytes = 512;
        wanted.budget = 64 << 10;
        wanted.deadline = std::chrono::seconds(60);
        run(ranks, wanted, program);
      }
    }
  }
  std::printf("test_stress_ranks: %d turns, all well\n", turns);
  return 0;
}
