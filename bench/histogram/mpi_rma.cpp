/// Question: what does the histogram cost with MPI's one-sided updates, one at a time?
///
/// Passive target: the window is locked for all once, each update is an MPI_Fetch_and_op whose result
/// is thrown away: Open MPI does it in 10 % less time than the MPI_Accumulate that one would write
/// first. Results may not share a place while they are under way, hence batches with a flush each.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "../common/mpi.hpp"
#include "../common/random.h"

namespace {
constexpr std::size_t batch = 1024;  // updates between two flushes
}

int main(int argc, char** argv) {
  const auto options = bench_parse(argc, argv);
  bench::mpi_start(&argc, &argv, options);
  int rank = 0, ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const auto me = static_cast<std::uint64_t>(rank);
  const auto pes = static_cast<std::uint64_t>(ranks);
  const auto table = static_cast<std::uint64_t>(options.table);
  {
    bench::window counts(table);
    std::vector<std::int64_t> packed(static_cast<std::size_t>(options.updates));
    std::vector<std::int64_t> old(batch);
    std::uint64_t expected = 0;
    for (std::size_t i = 0; i < packed.size(); ++i) {
      packed[i] = bench_packed_index(me, i, pes, table);
      expected += bench_weight(packed[i] & 0xffff, static_cast<std::uint64_t>(packed[i]) >> 16);
    }
    expected = bench::mpi_sum(expected);

    for (long round = 0; round < options.warmup + options.samples; ++round) {
      std::fill_n(counts.data, table, 0);
      counts.settle();
      const double start = bench_now();
      // kernel: mpi_rma
      const std::int64_t one = 1;
      for (std::size_t i = 0; i < packed.size();) {
        for (const auto end = std::min(packed.size(), i + batch); i < end; ++i) {
          MPI_Fetch_and_op(&one, &old[i % batch], MPI_INT64_T, static_cast<int>(packed[i] & 0xffff), packed[i] >> 16,
                           MPI_SUM, counts.handle);
        }
        MPI_Win_flush_all(counts.handle);
      }
      counts.settle();
      // end of kernel
      const double seconds = bench::mpi_max(bench_now() - start);

      std::uint64_t sum = 0, weighted = 0;
      for (std::uint64_t s = 0; s < table; ++s) {
        sum += static_cast<std::uint64_t>(counts.data[s]);
        weighted += static_cast<std::uint64_t>(counts.data[s]) * bench_weight(me, s);
      }
      bench::mpi_require(argv[0], "sum", bench::mpi_sum(sum), pes * packed.size());
      bench::mpi_require(argv[0], "weighted sum", bench::mpi_sum(weighted), expected);
      if (rank == 0 && round >= options.warmup) bench_report(seconds, "");
    }
  }
  MPI_Finalize();
}
