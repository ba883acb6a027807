/// Question: how old is a value at least when another core has it?
///
/// Two pinned threads, and a cache line for each value under way. The value is its own flag; the receiver looks on and
/// on.
#include <atomic>
#include <exception>
#include <vector>

#include "../common/team.hpp"
#include "period.hpp"

namespace {

struct alignas(2 * bench::line) box {
  std::atomic<std::uint64_t> value{0};
};
constexpr long boxes = 64;

}  // namespace

int main(int argc, char** argv) try {
  const auto options = bench_parse(argc, argv);
  const double per_ns = bench::ticks_per_ns();
  for (long sample = 0; sample != options.warmup + options.samples; ++sample) {
    std::vector<box> all(boxes);
    bench::ages ages(options.updates);
    const double start = bench_now();
    const double processor = bench_processor_now();
    bench::run_team(2, [&](int me) {
      if (me == 0) {
        bench::pace pace(options.period, per_ns);
        for (long i = 0; i != options.updates; ++i) {
          auto& value = all[static_cast<std::size_t>(i % boxes)].value;
          bench::wait_until([&] { return value.load(std::memory_order_acquire) == 0; });  // taken out
          value.store(pace.next(), std::memory_order_release);
        }
        return;
      }
      for (long i = 0; i != options.updates; ++i) {
        auto& value = all[static_cast<std::size_t>(i % boxes)].value;
        std::uint64_t got;
        while ((got = value.load(std::memory_order_acquire)) == 0) bench::relax();
        ages.received(argv[0], got);
        value.store(0, std::memory_order_release);
      }
    });
    if (sample < options.warmup) continue;
    ages.report(argv[0], options.updates, per_ns, bench_now() - start, bench_processor_now() - processor);
  }
  return 0;
} catch (const std::exception& problem) {
  std::fprintf(stderr, "%s: %s\n", argv[0], problem.what());
  return 1;
}
