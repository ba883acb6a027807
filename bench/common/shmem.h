/* What the OpenSHMEM programs share. Every function is collective. */
#ifndef BENCH_COMMON_SHMEM_H
#define BENCH_COMMON_SHMEM_H

#include <shmem.h>

#include "program.h"

/* The launcher decides how many PEs there are; a program told another number would report one
 * machine's time under another's name. */
static inline void bench_shmem_start(const char* program, const struct bench_options* options) {
  shmem_init();
  if (options->pes != 0 && options->pes != shmem_n_pes()) {
    if (shmem_my_pe() == 0) {
      fprintf(stderr, "%s: --pes %ld, but the launcher started %d\n", program, options->pes,
              shmem_n_pes());
    }
    shmem_global_exit(2);
  }
}

/* Sums over all PEs, modulo 2^64; OpenSHMEM 1.4 reduces symmetric data only. */
static inline uint64_t bench_shmem_sum(uint64_t value) {
  static long long mine, sum;
  static long work[SHMEM_REDUCE_SYNC_SIZE];
  static long long scratch[SHMEM_REDUCE_MIN_WRKDATA_SIZE];
  for (int i = 0; i < SHMEM_REDUCE_SYNC_SIZE; ++i) work[i] = SHMEM_SYNC_VALUE;
  mine = (long long)value;
  shmem_barrier_all();
  shmem_longlong_sum_to_all(&sum, &mine, 1, 0, 0, shmem_n_pes(), scratch, work);
  shmem_barrier_all();
  return (uint64_t)sum;
}

static inline double bench_shmem_max(double value) {
  static double mine, max;
  static long work[SHMEM_REDUCE_SYNC_SIZE];
  static double scratch[SHMEM_REDUCE_MIN_WRKDATA_SIZE];
  for (int i = 0; i < SHMEM_REDUCE_SYNC_SIZE; ++i) work[i] = SHMEM_SYNC_VALUE;
  mine = value;
  shmem_barrier_all();
  shmem_double_max_to_all(&max, &mine, 1, 0, 0, shmem_n_pes(), scratch, work);
  shmem_barrier_all();
  return max;
}

static inline void* bench_shmem_allocate(const char* program, size_t bytes) {
  void* block = shmem_malloc(bytes);
  if (block == NULL) {
    fprintf(stderr, "%s: shmem_malloc of %zu bytes failed\n", program, bytes);
    shmem_global_exit(1);
  }
  return block;
}

/* All PEs agree that an answer is right before one of them prints a time. */
static inline void bench_shmem_require(const char* program, const char* what, uint64_t got,
                                       uint64_t expected) {
  if (got != expected) {
    if (shmem_my_pe() == 0) {
      fprintf(stderr, "%s: wrong answer: %s is %llu, expected %llu\n", program, what,
              (unsigned long long)got, (unsigned long long)expected);
    }
    shmem_global_exit(1);
  }
}

#endif
