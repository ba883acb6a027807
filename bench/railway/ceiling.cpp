/// Question: how many numbers a second can two cores hand over at all?
///
/// Two pinned threads, and what producers and consumers there are shared out between them: producers and the first
/// consumers to one, the other consumers to the other. A thread visits those that it plays in turn, and each does as
/// many buffers as it finds.
#include <exception>
#include <memory>
#include <vector>

#include "ring.hpp"

namespace {

using bench::consumer, bench::producer, bench::ring;

/// Calls each until all are through.
template <class A, class B>
void play(std::vector<A>& a, std::vector<B>& b) {
  for (int idle = 0;;) {
    bool through = true;
    for (auto& one : a) through &= one();
    for (auto& one : b) through &= one();
    if (through) return;
    if (++idle % 4096 == 0) sched_yield();
  }
}

}  // namespace

int main(int argc, char** argv) try {
  const auto options = bench_parse(argc, argv);
  const auto s = bench::shape_of(argv[0], options);
  bench::barrier together(2);
  for (long sample = 0; sample != options.warmup + options.samples; ++sample) {
    std::vector<std::unique_ptr<ring>> rings;
    for (long p = 0; p != s.producers; ++p) rings.push_back(std::make_unique<ring>(s));
    std::vector<std::uint64_t> sums(static_cast<std::size_t>(s.consumers * s.producers));
    const long here = s.producers == 1 ? (s.consumers - 1) / 2 : 0;  // consumers beside the producer
    std::uint64_t results = 0;
    bench::stopwatch watch;
    bench::run_team(2, [&](int me) {
      std::vector<producer> producers;
      std::vector<consumer> consumers;
      for (long p = 0; p != s.producers; ++p) {
        ring& r = *rings[static_cast<std::size_t>(p)];
        if (me == 0) producers.push_back({r, bench::numbers(s, p), s.capacity, s.circle ? &results : nullptr});
        for (long c = me == 0 ? 0 : here; c != (me == 0 ? here : s.consumers); ++c) {
          consumers.push_back({r, s, c, s.goods_of(p), sums[static_cast<std::size_t>(c * s.producers + p)]});
        }
      }
      together.arrive_and_wait();
      if (me == 0) watch.start();
      play(producers, consumers);
      together.arrive_and_wait();
      if (me == 0) watch.stop();
    });
    std::vector<std::uint64_t> of_each(static_cast<std::size_t>(s.consumers));
    for (std::size_t i = 0; i != sums.size(); ++i) of_each[i / static_cast<std::size_t>(s.producers)] += sums[i];
    if (sample >= options.warmup) bench::report(argv[0], s, watch, of_each, results);
  }
  return 0;
} catch (const std::exception& problem) {
  std::fprintf(stderr, "%s: %s\n", argv[0], problem.what());
  return 1;
}
