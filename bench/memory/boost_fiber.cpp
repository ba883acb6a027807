/// Question: how much memory does a parked fiber of Boost.Fiber take?
#include "../common/boost_fiber.hpp"

#include <boost/fiber/all.hpp>
#include <cstdio>
#include <exception>
#include <vector>

#include "parked.hpp"

using boost::fibers::context;

int main(int argc, char** argv) try {
  const auto options = bench_parse(argc, argv);
  bench::parked_fibers fibers(argv[0], options);
  std::vector<context*> contexts(fibers.size());
  std::vector<boost::fibers::fiber> all;
  context* const outside = context::active();
  fibers.start();
  auto stacks = bench::boost_fiber_stacks();
  all.reserve(fibers.size());
  for (std::size_t i = 0; i < fibers.size(); ++i) {
    all.emplace_back(boost::fibers::launch::post, std::allocator_arg, stacks, [&, i] {
      context* const me = contexts[i] = context::active();
      fibers.parks();
      me->suspend();
      fibers.wakes();
    });
  }
  while (!fibers.all_parked()) boost::this_fiber::yield();
  fibers.measure();
  for (auto* const one : contexts) outside->schedule(one);
  for (auto& one : all) one.join();
  return fibers.finish();
} catch (const std::exception& problem) {
  std::fprintf(stderr, "%s: %s\n", argv[0], problem.what());
  return 1;
}
