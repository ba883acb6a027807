/// One shared integer, incremented by all: so many increments in all, timed; then for a time, for the shares.
#pragma once

#include "../common/transactions.hpp"

namespace bench {

/// \tparam Counter  made of nothing; increment(), and value() when all have ended.
template <typename System, typename Counter>
int increments(int argc, char** argv) {
  const auto o = bench_parse(argc, argv);
  System system(o);
  for (long sample = -o.warmup; sample < o.samples; ++sample) {
    Counter counter;
    const long each = o.updates / o.fibers;
    const double aborts = aborts_of<System>();
    const double begin = bench_now();
    system.together(o.fibers, [&](long) {
      for (long i = 0; i < each; ++i) counter.increment();
    });
    const double seconds = bench_now() - begin;
    const double per_commit = (aborts_of<System>() - aborts) / static_cast<double>(each * o.fibers);
    const long for_shares = sample < 0 ? 1 : o.milliseconds;  // a warm-up round needs none
    const auto shares = for_a_time(system, o.fibers, for_shares, [&](long, long) { counter.increment(); });
    long expected = each * o.fibers;
    for (const long s : shares) expected += s;
    if (counter.value() != expected) {
      bench_wrong(argv[0], "the integer", static_cast<unsigned long long>(counter.value()),
                  static_cast<unsigned long long>(expected));
    }
    if (sample < 0) continue;
    bench_report(seconds, (aborts_member<System>(per_commit) + member("share", fairness(shares))).c_str());
  }
  return 0;
}

}  // namespace bench
