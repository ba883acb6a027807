/// Question: what do two threads reach with the best known ring of C++, as many numbers at a time as a train carries?
///
/// boost::lockfree::spsc_queue with as many places as all trains have together; push and pop of ranges, spinning.
#include <boost/lockfree/spsc_queue.hpp>
#include <exception>
#include <memory>
#include <vector>

#include "../common/team.hpp"
#include "shape.hpp"

int main(int argc, char** argv) try {
  const auto options = bench_parse(argc, argv);
  const auto s = bench::line_of(argv[0], options);
  if (s.producers != 1 || s.consumers != 1) bench_absent(argv[0], "is between one producer and one consumer");
  bench::barrier together(2);
  for (long sample = 0; sample != options.warmup + options.samples; ++sample) {
    boost::lockfree::spsc_queue<long> queue(static_cast<std::size_t>(s.capacity * s.trains));
    std::uint64_t sum = 0;
    bench::stopwatch watch;
    bench::run_team(2, [&](int me) {
      std::vector<long> some(static_cast<std::size_t>(s.capacity));
      bench::numbers numbers(s, 0);
      together.arrive_and_wait();
      if (me == 0) {
        watch.start();
        while (numbers.left() != 0) {
          const auto n = static_cast<std::size_t>(numbers.fill(some.data(), s.capacity));
          for (std::size_t done = 0; done != n;) {
            const auto pushed = queue.push(some.data() + done, n - done);
            if (pushed == 0) bench::relax();
            done += pushed;
          }
        }
      } else {
        for (long left = s.goods; left != 0;) {
          const auto n = queue.pop(some.data(), some.size());
          if (n == 0) bench::relax();
          sum += bench::add_up(some.data(), static_cast<long>(n));
          left -= static_cast<long>(n);
        }
      }
      together.arrive_and_wait();
      if (me == 0) watch.stop();
    });
    if (sample >= options.warmup) bench::report(argv[0], s, watch, {sum});
  }
  return 0;
} catch (const std::exception& problem) {
  std::fprintf(stderr, "%s: %s\n", argv[0], problem.what());
  return 1;
}
