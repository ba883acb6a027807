/// Question: what does the triangle count cost one core that holds the whole graph?
///
/// The oracle itself (it merges rows, and so does less than one step a wedge), timed. Its seconds
/// compare with no other system's, which ask a question for each wedge; its count with all.
#include <exception>

#include "input.hpp"

int main(int argc, char** argv) try {
  const auto options = bench_parse(argc, argv);
  const auto pes = static_cast<std::uint64_t>(options.pes > 0 ? options.pes : 2);
  const auto graph = bench::make_graph(argv[0], options, pes);
  for (long round = 0; round < options.warmup + options.samples; ++round) {
    const double start = bench_now();
    const auto found = bench::expected_answer(graph);
    const double seconds = bench_now() - start;
    if (round >= options.warmup) bench_report(seconds, found.members().c_str());
  }
} catch (const std::exception& problem) {
  std::fprintf(stderr, "%s: %s\n", argv[0], problem.what());
  return 1;
}
