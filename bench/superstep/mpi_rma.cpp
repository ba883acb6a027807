/// Question: what do the smallest superstep and the smallest round trip cost in MPI, one-sided?
///
/// A superstep is an MPI_Put, a flush and a barrier; a round trip is a put with a flush in each
/// direction, waited for by looking at one's own part of the window.
#include <atomic>

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
  {
    // Two places in turn: the next round's message may come before this round's has been read.
    bench::window inbox(2);
    inbox.data[0] = inbox.data[1] = 0;
    inbox.settle();
    const auto put = [&](const std::int64_t& message, long place) {
      MPI_Put(&message, 1, MPI_INT64_T, other, place, 1, MPI_INT64_T, inbox.handle);
      MPI_Win_flush(other, inbox.handle);
    };
    // MPI promises no atomicity of a put, but every known one stores an aligned word at once.
    const auto await = [&](long place, long message) {
      const std::atomic_ref<std::int64_t> word(inbox.data[place]);
      while (word.load(std::memory_order_acquire) != message) MPI_Win_sync(inbox.handle);
    };
    long round = 0;
    for (long sample = 0; sample < options.warmup + options.samples; ++sample) {
      MPI_Barrier(MPI_COMM_WORLD);
      const double start = bench_now();
      for (long i = 0; i < options.rounds; ++i, ++round) {
        const long place = round % 2;
        const std::int64_t message = bench_message(round, me);
        if (!round_trip) {
          put(message, place);
          inbox.settle();
        } else if (me == 0) {
          put(message, place);
          await(place, bench_message(round, other));
        } else {
          await(place, bench_message(round, other));
          put(message, place);
        }
        bench_check_message(argv[0], inbox.data[place], round, other);
      }
      MPI_Barrier(MPI_COMM_WORLD);
      const double seconds = bench::mpi_max(bench_now() - start);
      if (me == 0 && sample >= options.warmup) bench_report(seconds, "");
    }
  }
  MPI_Finalize();
}
