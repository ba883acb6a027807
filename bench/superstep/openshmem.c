/* Question: what do the smallest superstep and the smallest round trip cost in OpenSHMEM?
 *
 * A superstep is a put of one word and a barrier, which completes it; a round trip is a put in each
 * direction, waited for with shmem_wait_until.
 */
#include "../common/shmem.h"
#include "message.h"

int main(int argc, char** argv) {
  const struct bench_options options = bench_parse(argc, argv);
  const int round_trip = bench_is_round_trip(argv[0], &options);
  /* Two places in turn: the next round's message may come before this round's has been read. */
  static long inbox[2];
  long round = 0;
  bench_shmem_start(argv[0], &options);
  const int me = shmem_my_pe();
  const int other = 1 - me;
  if (shmem_n_pes() != 2) bench_bad_option(argv[0], "--pes", "(2 only)");

  for (long sample = 0; sample < options.warmup + options.samples; ++sample) {
    shmem_barrier_all();
    const double start = bench_now();
    for (long i = 0; i < options.rounds; ++i, ++round) {
      long* const place = &inbox[round % 2];
      const long message = bench_message(round, me);
      if (!round_trip) {
        shmem_long_p(place, message, other);
        shmem_barrier_all();
      } else if (me == 0) {
        shmem_long_p(place, message, other);
        shmem_long_wait_until(place, SHMEM_CMP_EQ, bench_message(round, other));
      } else {
        shmem_long_wait_until(place, SHMEM_CMP_EQ, bench_message(round, other));
        shmem_long_p(place, message, other);
      }
      bench_check_message(argv[0], *place, round, other);
    }
    shmem_barrier_all();
    const double seconds = bench_shmem_max(bench_now() - start);
    if (me == 0 && sample >= options.warmup) bench_report(seconds, "");
  }
  shmem_finalize();
  return 0;
}
