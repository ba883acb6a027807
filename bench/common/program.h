/* What every program of a table shares, in C and in C++: its command line, the clock and the lines
 * that it prints.
 *
 * Invariants
 *   P1  One JSON object a line on stdout, one line a sample; warm-up rounds print nothing.
 *   P2  A wrong answer is never printed as a time: bench_wrong() ends the program, exit 1.
 *   P3  An option that is not known, or a number that is not one, ends the program, exit 2.
 *   P4  What the machine does not give (threads, memory) is no failure: bench_absent(), exit 3.
 */
#ifndef BENCH_COMMON_PROGRAM_H
#define BENCH_COMMON_PROGRAM_H

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct bench_options {
  long pes;          /* 0: as many as the launcher started */
  long updates;      /* updates or reads, per PE */
  long table;        /* table entries per PE; stm-ll: keys */
  long rows;         /* triangle: rows per PE (er); matmul: rows of A, columns of B */
  long columns;      /* matmul: columns of A, rows of B */
  long row_nonzeros; /* triangle: mean non-zeros a row of the lower triangle (er) */
  long scale;        /* triangle: log2 of the vertices (rmat); forkjoin: n of fib and of n-queens;
                        dft: log2 of the rows, and of the columns */
  long edge_factor;  /* triangle: edges a vertex (rmat) */
  long rounds;       /* superstep: rounds in one sample */
  long samples;
  long warmup;
  long buffer;       /* ceiling: items in a buffer; matmul: rows of a tile; 0: the best found */
  long depth;        /* ceiling: buffers in a lane; 0: the best found; heat: the third dimension, if there is one */
  const char* variant;   /* the way a system works, where it knows several; "": its first */
  const char* transport; /* shunt: threads | processes | mpi */
  const char* graph; /* triangle: er | rmat */
  const char* what;  /* superstep: superstep | round_trip; forkjoin: fib | nqueens | parallel_for;
                        matmul: tiles | loops */
  long period;       /* latency: us between two values */
  long fibers;       /* switch, memory; stm-si, stm-ll: fibers or threads */
  long lookups;      /* stm-ll: per cent of the operations */
  long stats;        /* stm-si, stm-ll, shunt: 1 prints what the transactions cost to stderr */
  long milliseconds; /* switch, stm-ll, stm-si's shares: how long a sample should take */
  long port;         /* echo_clients: the server's */
  const char* order; /* switch: fifo | random | chain */
  long producers;    /* railway, and the next three */
  long consumers;
  long capacity;     /* goods of a train */
  long trains;
  const char* oracle;  /* heat: a file with the sequential result, or where it is to be written; "": none */
};

static inline void bench_bad_option(const char* program, const char* option, const char* value) {
  fprintf(stderr, "%s: bad option or value: %s %s\n", program, option, value ? value : "");
  exit(2);
}

/* Options come as `--name value`; every program accepts every name, so that the driver need not
 * know which table's program reads which. */
static inline struct bench_options bench_parse(int argc, char** argv) {
  struct bench_options o;
  struct {
    const char* name;
    long* number;
    const char** word;
  } known[32];
  size_t count = 0;
  int a;
  size_t k;
  memset(&o, 0, sizeof o);
  o.updates = 10000000;
  o.table = 1000;
  o.rows = 10000;
  o.columns = 10000;
  o.row_nonzeros = 35;
  o.scale = 16;
  o.edge_factor = 16;
  o.rounds = 100000;
  o.samples = 5;
  o.warmup = 1;
  o.variant = "";
  o.oracle = "";
  o.transport = "threads";
  o.graph = "er";
  o.what = "superstep";
  o.fibers = 1000;
  o.milliseconds = 300;
  o.order = "fifo";
  o.producers = 1;
  o.consumers = 1;
  o.capacity = 256;
  o.trains = 16;
  o.period = 100;
#define BENCH_KNOWN(n, num, w)  \
  known[count].name = n;        \
  known[count].number = num;    \
  known[count++].word = w
  BENCH_KNOWN("--pes", &o.pes, NULL);
  BENCH_KNOWN("--updates", &o.updates, NULL);
  BENCH_KNOWN("--table", &o.table, NULL);
  BENCH_KNOWN("--rows", &o.rows, NULL);
  BENCH_KNOWN("--row-nonzeros", &o.row_nonzeros, NULL);
  BENCH_KNOWN("--scale", &o.scale, NULL);
  BENCH_KNOWN("--edge-factor", &o.edge_factor, NULL);
  BENCH_KNOWN("--rounds", &o.rounds, NULL);
  BENCH_KNOWN("--samples", &o.samples, NULL);
  BENCH_KNOWN("--warmup", &o.warmup, NULL);
  BENCH_KNOWN("--buffer", &o.buffer, NULL);
  BENCH_KNOWN("--graph", NULL, &o.graph);
  BENCH_KNOWN("--what", NULL, &o.what);
  BENCH_KNOWN("--depth", &o.depth, NULL);
  BENCH_KNOWN("--variant", NULL, &o.variant);
  BENCH_KNOWN("--transport", NULL, &o.transport);
  BENCH_KNOWN("--oracle", NULL, &o.oracle);
  BENCH_KNOWN("--fibers", &o.fibers, NULL);
  BENCH_KNOWN("--milliseconds", &o.milliseconds, NULL);
  BENCH_KNOWN("--order", NULL, &o.order);
  BENCH_KNOWN("--port", &o.port, NULL);
  BENCH_KNOWN("--columns", &o.columns, NULL);
  BENCH_KNOWN("--producers", &o.producers, NULL);
  BENCH_KNOWN("--consumers", &o.consumers, NULL);
  BENCH_KNOWN("--capacity", &o.capacity, NULL);
  BENCH_KNOWN("--trains", &o.trains, NULL);
  BENCH_KNOWN("--period", &o.period, NULL);
  BENCH_KNOWN("--lookups", &o.lookups, NULL);
  BENCH_KNOWN("--stats", &o.stats, NULL);
#undef BENCH_KNOWN
  for (a = 1; a < argc; a += 2) {
    const char* value = a + 1 < argc ? argv[a + 1] : NULL;
    for (k = 0; k < count; ++k) {
      if (strcmp(argv[a], known[k].name) == 0) break;
    }
    if (value == NULL || k == count) {
      bench_bad_option(argv[0], argv[a], value);
    }
    if (known[k].word != NULL) {
      *known[k].word = value;
    } else {
      char* end = NULL;
      errno = 0;
      *known[k].number = strtol(value, &end, 10);
      if (errno != 0 || end == value || *end != '\0' || *known[k].number < 0) {
        bench_bad_option(argv[0], argv[a], value);
      }
    }
  }
  return o;
}

static inline double bench_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Of all threads of the process. */
static inline double bench_processor_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Prints one sample. `extra` is further JSON members, each with a comma before it, or "". */
static inline void bench_report(double seconds, const char* extra) {
  printf("{\"seconds\": %.9f, \"checked\": true%s}\n", seconds, extra);
  fflush(stdout);
}

static inline void bench_wrong(const char* program, const char* what, unsigned long long got,
                               unsigned long long expected) {
  fprintf(stderr, "%s: wrong answer: %s is %llu, expected %llu\n", program, what, got, expected);
  exit(1);
}

static inline void bench_absent(const char* program, const char* why) {
  fprintf(stderr, "%s: absent: %s\n", program, why);
  exit(3);
}

#endif
