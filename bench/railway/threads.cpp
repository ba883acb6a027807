/// Question: what is lost where each producer and each consumer has a thread of its own that yields while it waits?
///
/// The ceiling's buffers; the system decides which thread runs where.
#include <exception>
#include <memory>
#include <thread>
#include <vector>

#include "ring.hpp"

namespace {

/// Until all are through.
template <class Player>
void play(std::vector<Player>& players) {
  for (bool through = false; !through;) {
    through = true;
    for (auto& one : players) through &= one();
    if (!through) std::this_thread::yield();
  }
}

}  // namespace

int main(int argc, char** argv) try {
  const auto options = bench_parse(argc, argv);
  const auto s = bench::line_of(argv[0], options);
  for (long sample = 0; sample != options.warmup + options.samples; ++sample) {
    std::vector<std::unique_ptr<bench::ring>> rings;
    for (long p = 0; p != s.producers; ++p) rings.push_back(std::make_unique<bench::ring>(s));
    std::vector<std::uint64_t> sums(static_cast<std::size_t>(s.consumers));
    bench::stopwatch watch;
    watch.start();
    {
      std::vector<std::jthread> threads;
      for (long p = 0; p != s.producers; ++p) {
        threads.emplace_back([&, p] {
          std::vector<bench::producer> me{{*rings[static_cast<std::size_t>(p)], bench::numbers(s, p), s.capacity}};
          play(me);
        });
      }
      for (long c = 0; c != s.consumers; ++c) {
        threads.emplace_back([&, c] {
          std::uint64_t sum = 0;
          std::vector<bench::consumer> me;
          for (long p = 0; p != s.producers; ++p) {
            me.push_back({*rings[static_cast<std::size_t>(p)], s, c, s.goods_of(p), sum});
          }
          play(me);
          sums[static_cast<std::size_t>(c)] = sum;
        });
      }
    }
    watch.stop();
    if (sample >= options.warmup) bench::report(argv[0], s, watch, sums);
  }
  return 0;
} catch (const std::exception& problem) {
  std::fprintf(stderr, "%s: %s\n", argv[0], problem.what());
  return 1;
}
