/// Question: what does it cost to go from one thread of the operating system to the next?
///
/// Each wakes its successor's futex and waits on its own, in order of creation too. They do not
/// yield: sched_yield promises no order among threads of one processor, hence no shuffled one.
#include "../common/threads.hpp"

#include <cstdio>
#include <cstring>
#include <exception>

#include "ring.hpp"

int main(int argc, char** argv) try {
  const auto options = bench_parse(argc, argv);
  if (std::strcmp(options.order, "random") == 0) {
    bench_absent(argv[0], "threads do not yield in a given order");
  }
  bench::ring ring(argv[0], options);
  std::vector<bench::futex> tokens(ring.size());
  auto body = [&](std::size_t me) {
    const auto turn = ring.turn_of(me);
    auto& mine = tokens[me];
    auto& next = tokens[ring.next(me)];
    for (;;) {
      mine.wait();
      mine.close();
      if (!ring.take(turn)) break;
      next.open(1);
    }
    next.open(1);
  };
  bench::threads all(argv[0], ring.size(), body);
  tokens[ring.first()].open(1);
  all.join();
  return ring.finish();
} catch (const std::exception& problem) {
  std::fprintf(stderr, "%s: %s\n", argv[0], problem.what());
  return 1;
}
