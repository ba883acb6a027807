/// Question: what does RandomAccess cost when each thread updates the words of all in place?
///
/// Two threads that meet at one word may lose an update: a lock on every update would keep a core from having several
/// cache misses at a time. The rules allow 1 % of wrong words, and this program fails beyond.
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include <random_access/stream.hpp>

#include "../common/program.h"
#include "../common/team.hpp"

int main(int argc, char** argv) try {
  const auto options = bench_parse(argc, argv);
  const int pes = options.pes > 0 ? static_cast<int>(options.pes) : 2;
  const std::uint64_t words = std::uint64_t{1} << options.scale, updates = 4 * words;
  std::vector<std::atomic<std::uint64_t>> table(words);
  const auto begin_of = [&](int pe) {
    return updates / static_cast<std::uint64_t>(pes) * static_cast<std::uint64_t>(pe);
  };
  const auto update = [&table, words](std::uint64_t x) {
    // relaxed: what another thread writes in between is lost, as the rules allow.
    auto& word = table[x & (words - 1)];
    word.store(word.load(std::memory_order_relaxed) ^ x, std::memory_order_relaxed);
  };
  bench::barrier together(pes);
  double start = 0;
  bench::run_team(pes, [&](int me) {
    for (long round = 0; round < options.warmup + options.samples; ++round) {
      if (me == 0) {
        for (std::uint64_t i = 0; i < words; ++i)
          table[i].store(i, std::memory_order_relaxed);  // ordered by the barrier
        start = bench_now();
      }
      together.arrive_and_wait();
      shunt::apps::access_stream stream(begin_of(me));
      for (auto left = (me + 1 == pes ? updates : begin_of(me + 1)) - begin_of(me); left != 0; --left) {
        update(stream.next());
      }
      together.arrive_and_wait();
      if (me == 0) {
        const double seconds = bench_now() - start;
        shunt::apps::access_stream again(0);
        for (auto left = updates; left != 0; --left) update(again.next());
        std::uint64_t errors = 0;
        for (std::uint64_t i = 0; i < words; ++i) errors += table[i].load(std::memory_order_relaxed) != i;
        if (errors * 100 > words) bench_wrong(argv[0], "number of wrong words", errors, words / 100);
        if (round >= options.warmup) bench_report(seconds, (", \"operations\": " + std::to_string(updates)).c_str());
      }
      together.arrive_and_wait();
    }
  });
} catch (const std::exception& problem) {
  std::fprintf(stderr, "%s: %s\n", argv[0], problem.what());
  return 1;
}
