/// What the tables `matmul` and `dft` share: problems that are loops, and rounds of them.
///
/// A system is a type with
///   static void inside(int workers, const Body& body)
/// which calls body(loop) where loop(count, each) calls each(i) for 0 <= i < count, at once on that
/// many workers, and returns when all have ended.
#pragma once

#include <algorithm>
#include <cstdio>
#include <exception>
#include <functional>

#include "program.h"

namespace bench {

/// The index is all that differs from one body to the next: the call is paid a few thousand times.
using loop = std::function<void(long, const std::function<void(long)>&)>;

/// One thread, in order.
struct serial_system {
  template <typename Body>
  static void inside(int, const Body& body) {
    body([](long count, const std::function<void(long)>& each) {
      for (long i = 0; i < count; ++i) each(i);
    });
  }
};

/// Rounds of: prepare, the timed part, check. \param problem  has prepare(), run(loop), check().
template <typename System, typename Problem>
int rounds(const char* program, const bench_options& options, Problem& problem) try {
  System::inside(static_cast<int>(std::max(1L, options.pes)), [&](const loop& each) {
    for (long round = 0; round < options.warmup + options.samples; ++round) {
      problem.prepare();
      const double start = bench_now();
      problem.run(each);
      const double seconds = bench_now() - start;
      problem.check(program);
      if (round >= options.warmup) bench_report(seconds, "");
    }
  });
  return 0;
} catch (const std::exception& bad) {
  std::fprintf(stderr, "%s: %s\n", program, bad.what());
  return 1;
}

}  // namespace bench
