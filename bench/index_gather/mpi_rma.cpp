/// Question: what does the index-gather cost with MPI's one-sided reads?
///
/// Passive target: the window is locked for all once, each read is an MPI_Get into its place of
/// target[], and a flush completes a batch of them. Batches bound what is under way at a time.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "../common/mpi.hpp"
#include "../common/random.h"

namespace {
constexpr std::size_t batch = 1024;  // reads between two flushes; 256 to 16,384 make no difference
}

int main(int argc, char** argv) {
  const auto options = bench_parse(argc, argv);
  bench::mpi_start(&argc, &argv, options);
  int rank = 0, ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const auto me = static_cast<std::uint64_t>(rank);
  const auto pes = static_cast<std::uint64_t>(ranks);
  const auto size = static_cast<std::uint64_t>(options.table);
  const auto reads_in_batch = options.buffer > 0 ? static_cast<std::size_t>(options.buffer) : batch;
  {
    bench::window table(size);
    for (std::uint64_t s = 0; s < size; ++s) table.data[s] = bench_table_value(me, s);
    std::vector<std::int64_t> packed(static_cast<std::size_t>(options.updates));
    for (std::size_t i = 0; i < packed.size(); ++i) {
      packed[i] = bench_packed_index(me, i, pes, size);
    }
    std::vector<std::int64_t> target(packed.size());

    for (long round = 0; round < options.warmup + options.samples; ++round) {
      std::fill(target.begin(), target.end(), 0);
      table.settle();
      const double start = bench_now();
      // kernel: mpi_rma
      for (std::size_t i = 0; i < packed.size();) {
        for (const auto end = std::min(packed.size(), i + reads_in_batch); i < end; ++i) {
          MPI_Get(&target[i], 1, MPI_INT64_T, static_cast<int>(packed[i] & 0xffff), packed[i] >> 16, 1, MPI_INT64_T,
                  table.handle);
        }
        MPI_Win_flush_all(table.handle);
      }
      table.settle();
      // end of kernel
      const double seconds = bench::mpi_max(bench_now() - start);

      std::uint64_t wrong = 0;
      for (std::size_t i = 0; i < packed.size(); ++i) {
        const auto global = static_cast<std::uint64_t>(packed[i]);
        wrong += target[i] != bench_table_value(global & 0xffff, global >> 16);
      }
      bench::mpi_require(argv[0], "number of wrong values", bench::mpi_sum(wrong), 0);
      if (rank == 0 && round >= options.warmup) bench_report(seconds, "");
    }
  }
  MPI_Finalize();
}
