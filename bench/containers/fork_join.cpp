/// Question: what does std::sort cost when fork_join gives each worker a half?
///
/// Halves are partitioned around the median, and sorted as tasks, down to ranges of 16,384 items.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include <shunt/sched.hpp>
#include <shunt/task.hpp>

#include "../common/program.h"
#include "work.hpp"

namespace {

using iterator = std::vector<std::uint64_t>::iterator;

void sort_range(iterator first, iterator last) {
  if (last - first <= 16'384) return std::sort(first, last);
  const auto middle = first + (last - first) / 2;
  const std::uint64_t pivot = std::max(std::min(*first, *middle), std::min(std::max(*first, *middle), last[-1]));
  const auto less = std::partition(first, last, [pivot](std::uint64_t x) { return x < pivot; });
  const auto more = std::partition(less, last, [pivot](std::uint64_t x) { return x == pivot; });
  shunt::fork_join([=] { sort_range(first, less); }, [=] { sort_range(more, last); });
}

}  // namespace

int main(int argc, char** argv) try {
  const auto options = bench_parse(argc, argv);
  const int workers = options.pes > 0 ? static_cast<int>(options.pes) : 2;
  std::vector<std::uint64_t> all;
  for (int w = 0; w < workers; ++w) {
    const auto some =
        bench::random_keys(w, static_cast<std::size_t>(options.updates), static_cast<std::uint64_t>(options.table));
    all.insert(all.end(), some.begin(), some.end());
  }
  const auto wanted = bench::weights(all);
  shunt::sched::runtime({.workers = workers}).run([&] {
    for (long round = 0; round < options.warmup + options.samples; ++round) {
      auto items = all;
      const double start = bench_now();
      sort_range(items.begin(), items.end());
      const double seconds = bench_now() - start;
      if (!std::is_sorted(items.begin(), items.end())) bench_wrong(argv[0], "in order", 0, 1);
      if (bench::weights(items) != wanted) bench_wrong(argv[0], "sum of all items", bench::weights(items), wanted);
      if (round >= options.warmup) bench_report(seconds, "");
    }
  });
} catch (const std::exception& problem) {
  std::fprintf(stderr, "%s: %s\n", argv[0], problem.what());
  return 1;
}
