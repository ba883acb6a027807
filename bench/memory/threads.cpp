/// Question: how much memory does a waiting thread of the operating system take?
///
/// What the kernel holds for a thread (a stack of 16 KiB, and its descriptions) is not resident
/// memory of the process, and so not counted.
#include "../common/threads.hpp"

#include <atomic>
#include <cstdio>
#include <exception>

#include "parked.hpp"

int main(int argc, char** argv) try {
  const auto options = bench_parse(argc, argv);
  bench::parked_fibers fibers(argv[0], options);
  std::atomic<std::size_t> parked{0};
  std::atomic<std::size_t> woken{0};
  bench::futex gate;
  auto body = [&](std::size_t) {
    ++parked;
    gate.wait();
    ++woken;
  };
  fibers.start();
  bench::threads all(argv[0], fibers.size(), body);
  while (parked < fibers.size()) sched_yield();
  for (std::size_t i = 0; i < parked; ++i) fibers.parks();
  fibers.measure();
  gate.open(INT_MAX);
  all.join();
  for (std::size_t i = 0; i < woken; ++i) fibers.wakes();
  return fibers.finish();
} catch (const std::exception& problem) {
  std::fprintf(stderr, "%s: %s\n", argv[0], problem.what());
  return 1;
}
