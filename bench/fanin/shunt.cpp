/// Question: how much do 8 actors get into the mailbox of one?
#include <cstdio>
#include <exception>
#include <shunt/actor.hpp>
#include <vector>

#include "../common/program.h"

namespace {

struct receiver {
  void take(long value) { sum += value; }
  long total() const { return sum; }
  long sum = 0;
};
struct sender {
  void send(shunt::ref<receiver> to, long messages) {
    for (long k = 0; k < messages; ++k) to.tell<&receiver::take>(k);
  }
};

}  // namespace

int main(int argc, char** argv) try {
  const auto options = bench_parse(argc, argv);
  const int workers = static_cast<int>(options.pes);
  const long senders = options.table, each = options.rounds / senders;
  shunt::manager all(shunt::sched::options{.workers = workers, .stuck_after = {}});
  for (long round = 0; round < options.warmup + options.samples; ++round) {
    auto into = all.spawn<receiver>({.worker = 0});
    std::vector<shunt::ref<sender>> from;
    for (long s = 0; s < senders; ++s) from.push_back(all.spawn<sender>({.worker = static_cast<int>(s) % workers}));
    all.drain();
    const double start = bench_now();
    for (const auto& s : from) s.tell<&sender::send>(into, each);
    all.drain();
    const double seconds = bench_now() - start;
    const long sum = all.await(into.ask<&receiver::total>()), want = senders * (each * (each - 1) / 2);
    if (sum != want) {
      bench_wrong(argv[0], "the sum", static_cast<unsigned long long>(sum), static_cast<unsigned long long>(want));
    }
    if (round >= options.warmup) bench_report(seconds, "");
    for (const auto& s : from) all.stop(s);
    all.stop(into);
  }
  return 0;
} catch (const std::exception& problem) {
  std::fprintf(stderr, "%s: %s\n", argv[0], problem.what());
  return 1;
}
