/// Question: how many goods a second are there where nothing moves? One thread loads a train and reads it, as often as
/// there are consumers.
#include <algorithm>
#include <exception>
#include <vector>

#include "shape.hpp"

int main(int argc, char** argv) try {
  const auto options = bench_parse(argc, argv);
  const auto s = bench::line_of(argv[0], options);
  std::vector<long> train(static_cast<std::size_t>(s.capacity));
  for (long sample = 0; sample != options.warmup + options.samples; ++sample) {
    std::vector<std::uint64_t> sums(static_cast<std::size_t>(s.consumers));
    bench::stopwatch watch;
    watch.start();
    for (long p = 0; p != s.producers; ++p) {
      bench::numbers here(s, p);
      while (const long n = here.fill(train.data(), s.capacity)) {
        asm volatile("" : : "r"(train.data()) : "memory");  // what was loaded is there, and may have changed
        for (auto& sum : sums) sum += bench::add_up(train.data(), n);
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
