/// Question: what does the triangle count cost with MPI's one-sided reads, many of them under way together?
#include <cstdio>
#include <exception>

#include "../common/one_sided_mpi.hpp"
#include "one_sided.hpp"

int main(int argc, char** argv) try {
  const auto options = bench_parse(argc, argv);
  bench::mpi_start(&argc, &argv, options);
  bench::count_triangles<bench::mpi_net>(argv[0], options, bench::reads::by_rows, bench::mpi_require);
  MPI_Finalize();
} catch (const std::exception& problem) {
  std::fprintf(stderr, "%s: %s\n", argv[0], problem.what());
  MPI_Abort(MPI_COMM_WORLD, 1);
}
