/* The superstep table's messages, for every system the same.
 *
 *   --what superstep     a round: each of two PEs sends the other one message of 8 bytes; the round
 *                        ends when both know that nothing is under way any more
 *   --what round_trip    a round: PE 0 sends a request of 8 bytes, PE 1 answers it
 *
 * Every message is checked when it arrives. Two PEs; nanoseconds are per round.
 */
#ifndef BENCH_SUPERSTEP_MESSAGE_H
#define BENCH_SUPERSTEP_MESSAGE_H

#include "../common/program.h"

/* What PE `from` says in round `round`; never 0, and in no two rounds the same. */
static inline long bench_message(long round, long from) { return 2 * round + from + 1; }

static inline void bench_check_message(const char* program, long got, long round, long from) {
  if (got != bench_message(round, from)) {
    bench_wrong(program, "a message", (unsigned long long)got,
                (unsigned long long)bench_message(round, from));
  }
}

/* 1 for round_trip, 0 for superstep. */
static inline int bench_is_round_trip(const char* program, const struct bench_options* options) {
  const int round_trip = strcmp(options->what, "round_trip") == 0;
  if (!round_trip && strcmp(options->what, "superstep") != 0) {
    bench_bad_option(program, "--what", options->what);
  }
  if (options->pes != 0 && options->pes != 2) bench_bad_option(program, "--pes", "(2 only)");
  return round_trip;
}

#endif
