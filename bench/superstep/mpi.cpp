/// Question: what do the smallest superstep and the smallest round trip cost in MPI, with messages?
///
/// A superstep is an MPI_Sendrecv and a barrier; a round trip is a send and a receive on each side.
#include "../common/mpi.hpp"
#include "message.h"

int main(int argc, char** argv) {
  const auto options = bench_parse(argc, argv);
  const bool round_trip = bench_is_round_trip(argv[0], &options) != 0;
  bench::mpi_start(&argc, &argv, options);
  int me = 0, ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (ranks != 2) bench_bad_option(argv[0], "--pes", "(2 only)");
  const int other = 1 - me;
  long round = 0;
  for (long sample = 0; sample < options.warmup + options.samples; ++sample) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = bench_now();
    for (long i = 0; i < options.rounds; ++i, ++round) {
      const long message = bench_message(round, me);
      long got = 0;
      if (!round_trip) {
        MPI_Sendrecv(&message, 1, MPI_LONG, other, 0, &got, 1, MPI_LONG, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Barrier(MPI_COMM_WORLD);
      } else if (me == 0) {
        MPI_Send(&message, 1, MPI_LONG, other, 0, MPI_COMM_WORLD);
        MPI_Recv(&got, 1, MPI_LONG, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      } else {
        MPI_Recv(&got, 1, MPI_LONG, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(&message, 1, MPI_LONG, other, 0, MPI_COMM_WORLD);
      }
      bench_check_message(argv[0], got, round, other);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    const double seconds = bench::mpi_max(bench_now() - start);
    if (me == 0 && sample >= options.warmup) bench_report(seconds, "");
  }
  MPI_Finalize();
}
