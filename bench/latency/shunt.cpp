/// Question: how old is a good when a station on another core has it, and what does waiting for it cost?
///
/// Variants   latency, balanced, battery: the wait profiles
#include <exception>
#include <string_view>

#include <shunt/task.hpp>

#include "period.hpp"

namespace {

shunt::wait_profile profile_of(const char* program, std::string_view name) {
  if (name == "latency") return shunt::wait_profile::latency;
  if (name == "balanced") return shunt::wait_profile::balanced;
  if (name == "battery") return shunt::wait_profile::battery;
  bench_bad_option(program, "--variant", name.data());
  return {};
}

}  // namespace

int main(int argc, char** argv) try {
  const auto options = bench_parse(argc, argv);
  const auto profile = profile_of(argv[0], options.variant);
  const double per_ns = bench::ticks_per_ns();
  shunt::sched::runtime runtime({.workers = 2});
  runtime.run([&] {
    for (long sample = 0; sample != options.warmup + options.samples; ++sample) {
      shunt::railway<std::uint64_t> line({.capacity = 1, .trains = 64, .wait = profile});
      auto& in = line.source("in");
      auto& out = line.after({&in}, "out");
      bench::ages ages(options.updates);
      line.operate(in, [&](auto& s) {
        bench::pace pace(options.period, per_ns);
        for (long i = 0; i != options.updates; ++i) s.put(pace.next());
      });
      line.operate(out, [&](auto& s) {
        while (auto train = s.arrive()) ages.received(argv[0], train[0]);
      });
      const double start = bench_now();
      const double processor = bench_processor_now();
      line.run();
      const double seconds = bench_now() - start;
      if (sample >= options.warmup) {
        ages.report(argv[0], options.updates, per_ns, seconds, bench_processor_now() - processor);
      }
    }
  });
  return 0;
} catch (const std::exception& problem) {
  std::fprintf(stderr, "%s: %s\n", argv[0], problem.what());
  return 1;
}
