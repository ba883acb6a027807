/// Question: how much memory does a parked context of the C library take?
///
/// A stack and a ucontext_t; main() swaps into each, which swaps back to park.
#include <cstdio>
#include <exception>
#include <vector>

#include "../common/stacks.hpp"
#include "../common/ucontext.hpp"
#include "parked.hpp"

namespace {

bench::parked_fibers* counted = nullptr;
ucontext_t* running = nullptr;
ucontext_t outside;  // main()'s

void body() {
  ucontext_t* const me = running;
  counted->parks();
  swapcontext(me, &outside);
  counted->wakes();
  swapcontext(me, &outside);
}

}  // namespace

int main(int argc, char** argv) try {
  const auto options = bench_parse(argc, argv);
  bench::parked_fibers fibers(argv[0], options);
  counted = &fibers;
  fibers.start();
  const bench::stacks stacks(fibers.size());
  std::vector<ucontext_t> all(fibers.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    running = &all[i];
    bench::prepare(*running, stacks.low(i), stacks.top(i), &body);
    swapcontext(&outside, running);
  }
  fibers.measure();
  for (auto& one : all) swapcontext(&outside, &one);
  return fibers.finish();
} catch (const std::exception& problem) {
  std::fprintf(stderr, "%s: %s\n", argv[0], problem.what());
  return 1;
}
