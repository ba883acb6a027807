/// Question: what do the programs of bale cost with MPI's one-sided operations, one for each item?
#include <cstdio>
#include <exception>

#include "../common/one_sided_mpi.hpp"
#include "one_sided/program.hpp"

int main(int argc, char** argv) try {
  const auto options = bench_parse(argc, argv);
  const bench::wanted asked(options.what);
  if (!asked.known()) bench_bad_option(argv[0], "--what", options.what);
  bench::mpi_start(&argc, &argv, options);
  bench::one_sided<bench::mpi_net>(options, asked).run();
  MPI_Finalize();
} catch (const std::exception& problem) {
  std::fprintf(stderr, "%s: %s\n", argv[0], problem.what());
  MPI_Abort(MPI_COMM_WORLD, 1);
}
