/// Question: how much memory does a parked fiber take?
///
///   --variant default   stacks as they come: address space of 256 KiB
///   --variant small     of 64 KiB
///   --variant compact   compact fibers: their frames are put aside
#include <cstdio>
#include <cstring>
#include <exception>
#include <shunt/sched/fiber.hpp>
#include <shunt/sched/runtime.hpp>
#include <vector>

#include "parked.hpp"

namespace {

using namespace shunt::sched;

spawn_options how_to_spawn(const char* program, const bench_options& options) {
  spawn_options how{.worker = 0};
  if (std::strcmp(options.variant, "small") == 0) {
    how.stack_bytes = 64 * 1024;
  } else if (std::strcmp(options.variant, "compact") == 0) {
    how.compact = true;
  } else if (std::strcmp(options.variant, "default") != 0 && *options.variant != '\0') {
    bench_bad_option(program, "--variant", options.variant);
  }
  return how;
}

}  // namespace

int main(int argc, char** argv) try {
  const auto options = bench_parse(argc, argv);
  bench::parked_fibers fibers(argv[0], options);
  const spawn_options how = how_to_spawn(argv[0], options);
  std::vector<waker> wakers(fibers.size());
  bool open = false;
  runtime one({.workers = 1});
  one.run([&] {
    fibers.start();
    for (std::size_t i = 0; i < fibers.size(); ++i) {
      one.spawn(
          [&, i] {
            wakers[i] = this_fiber::self();
            fibers.parks();
            while (!open) this_fiber::park();
            fibers.wakes();
          },
          how);
    }
    while (!fibers.all_parked()) this_fiber::yield();
    fibers.measure();
    open = true;
    for (const auto& one_of_them : wakers) one_of_them.wake();
  });
  return fibers.finish();
} catch (const std::exception& problem) {
  std::fprintf(stderr, "%s: %s\n", argv[0], problem.what());
  return 1;
}
