/// Question: what do the smallest superstep and the smallest round trip cost between two cores?
///
/// Two pinned threads, and a cache line for each message. A message is its own flag: it differs from
/// the one before in its place, so its arrival is seen in the load that fetches it. When both have
/// arrived nothing is under way, so the superstep needs no word more.
///
/// Invariants
///   C1  boxes[p] is written by PE p alone, and its two places in turn. The sender of the message of round r + 1 has
///       read the other PE's message of round r, and the other had read that of round r - 1 before it sent this one: no
///       message is overwritten before it is read.
#include <atomic>
#include <cstdio>
#include <exception>

#include "../common/team.hpp"
#include "message.h"

namespace {

struct alignas(2 * bench::line) mailbox {  // pairs of lines: adjacent lines are fetched together
  std::atomic<long> word{0};
};

long receive(const mailbox& from, long last) {
  // Tight at first: `pause` alone lasts as long as a near core's answer.
  for (int spins = 0; spins < 1000; ++spins) {
    const long got = from.word.load(std::memory_order_acquire);
    if (got != last) return got;
  }
  long got = last;
  bench::wait_until([&] { return (got = from.word.load(std::memory_order_acquire)) != last; });
  return got;
}

}  // namespace

int main(int argc, char** argv) try {
  const auto options = bench_parse(argc, argv);
  const bool round_trip = bench_is_round_trip(argv[0], &options) != 0;
  mailbox boxes[2][2];
  bench::barrier together(2);
  double start = 0;
  bench::run_team(2, [&](int me) {
    const int other = 1 - me;
    long last[2] = {0, 0};
    long round = 0;
    for (long sample = 0; sample < options.warmup + options.samples; ++sample) {
      together.arrive_and_wait();
      if (me == 0) start = bench_now();
      together.arrive_and_wait();
      for (long i = 0; i < options.rounds; ++i, ++round) {
        const auto place = round % 2;
        const long message = bench_message(round, me);
        auto& mine = boxes[me][place].word;
        if (!round_trip || me == 0) mine.store(message, std::memory_order_release);
        last[place] = receive(boxes[other][place], last[place]);
        if (round_trip && me == 1) mine.store(message, std::memory_order_release);
        bench_check_message(argv[0], last[place], round, other);
      }
      together.arrive_and_wait();
      if (me == 0 && sample >= options.warmup) bench_report(bench_now() - start, "");
    }
  });
} catch (const std::exception& problem) {
  std::fprintf(stderr, "%s: %s\n", argv[0], problem.what());
  return 1;
}
