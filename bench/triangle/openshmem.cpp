/// Question: what does the triangle count cost as PGAS programs are first written?
///
/// For each non-zero (i, j) of a local row i, row j is pulled and merged with row i.
///   --variant word   the published loop: bounds and columns of row j one word at a time, until the
///                    merge has passed row i's last column
///   --variant row    a PGAS programmer's next step: both bounds in one get, all columns in another
#include <algorithm>
#include <cstring>
#include <exception>

#include "input.hpp"

#include "../common/shmem.h"

namespace {

struct shared_rows {
  long* offsets = nullptr;
  std::int32_t* columns = nullptr;
};

int owner(std::uint32_t row, std::uint32_t pes) { return static_cast<int>(row % pes); }

std::uint64_t count_by_word(const bench::local_rows& mine, const shared_rows& all, std::uint32_t pes) {
  std::uint64_t found = 0;
  for (std::size_t i = 0; i < mine.count(); ++i) {
    const auto row = mine.row(i);
    for (std::size_t at = 1; at < row.size(); ++at) {  // the first column has no k below it
      const auto j = row[at];
      const long first = shmem_long_g(&all.offsets[j / pes], owner(j, pes));
      const long last = shmem_long_g(&all.offsets[j / pes + 1], owner(j, pes));
      std::size_t below = 0;
      for (long k = first; k < last && below < at; ++k) {
        const auto column = static_cast<std::uint32_t>(shmem_int32_g(&all.columns[k], owner(j, pes)));
        while (below < at && row[below] < column) ++below;
        found += below < at && row[below] == column;
      }
    }
  }
  return found;
}

std::uint64_t count_by_row(const bench::local_rows& mine, const shared_rows& all, std::uint32_t pes,
                           std::size_t longest) {
  std::uint64_t found = 0;
  std::vector<std::uint32_t> pulled(longest);
  for (std::size_t i = 0; i < mine.count(); ++i) {
    const auto row = mine.row(i);
    for (std::size_t at = 1; at < row.size(); ++at) {
      const auto j = row[at];
      long bounds[2];
      shmem_long_get(bounds, &all.offsets[j / pes], 2, owner(j, pes));
      const auto length = static_cast<std::size_t>(bounds[1] - bounds[0]);
      if (length == 0) continue;
      shmem_get32(pulled.data(), &all.columns[bounds[0]], length, owner(j, pes));
      found += bench::row_contains_of(std::span(pulled).first(length), row.first(at));
    }
  }
  return found;
}

}  // namespace

int main(int argc, char** argv) try {
  const auto options = bench_parse(argc, argv);
  const bool by_row = std::strcmp(options.variant, "row") == 0;
  if (!by_row && std::strcmp(options.variant, "word") != 0 && *options.variant != '\0') {
    bench_bad_option(argv[0], "--variant", options.variant);
  }
  bench_shmem_start(argv[0], &options);
  const auto me = static_cast<std::uint32_t>(shmem_my_pe());
  const auto pes = static_cast<std::uint32_t>(shmem_n_pes());
  const auto graph = bench::make_graph(argv[0], options, pes);
  const auto expected = bench::expected_answer(graph);
  const bench::local_rows mine(graph, me, pes);

  // Symmetric blocks have one size everywhere: the largest part's.
  std::size_t longest = 0, most_rows = 0, most_columns = 0;
  for (std::uint32_t v = 0; v < graph.vertices(); ++v) {
    longest = std::max(longest, graph.row(v).size());
  }
  for (std::uint32_t pe = 0; pe < pes; ++pe) {
    const bench::local_rows part(graph, pe, pes);
    most_rows = std::max(most_rows, part.offsets.size());
    most_columns = std::max(most_columns, part.columns.size());
  }
  shared_rows all;
  all.offsets = static_cast<long*>(bench_shmem_allocate(argv[0], most_rows * sizeof(long)));
  all.columns = static_cast<std::int32_t*>(bench_shmem_allocate(argv[0], (most_columns + 1) * sizeof(std::int32_t)));
  std::copy(mine.offsets.begin(), mine.offsets.end(), all.offsets);
  std::copy(mine.columns.begin(), mine.columns.end(), all.columns);

  for (long round = 0; round < options.warmup + options.samples; ++round) {
    shmem_barrier_all();
    const double start = bench_now();
    const auto found = by_row ? count_by_row(mine, all, pes, longest) : count_by_word(mine, all, pes);
    const auto total = bench_shmem_sum(found);  // barriers included: the superstep's end
    const double seconds = bench_shmem_max(bench_now() - start);
    bench_shmem_require(argv[0], "number of triangles", total, expected.triangles);
    if (me == 0 && round >= options.warmup) bench_report(seconds, expected.members().c_str());
  }
  shmem_free(all.columns);
  shmem_free(all.offsets);
  shmem_finalize();
} catch (const std::exception& problem) {
  std::fprintf(stderr, "%s: %s\n", argv[0], problem.what());
  return 1;
}
