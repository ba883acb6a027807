/* Counter-based random numbers and the inputs made of them, for C and C++.
 *
 * Invariants
 *   N1  Every value is a pure function of (seed, pe, i): the inputs of a table are the same for
 *       every system, every number of processes per machine and every order of generation.
 *   N2  The expected checksums are sums modulo 2^64 over single updates, so each PE computes its
 *       share alone, without a second table.
 *
 * Source: Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014,
 * doi:10.1145/2660193.2660195 (the finaliser and the increment).
 */
#ifndef BENCH_COMMON_RANDOM_H
#define BENCH_COMMON_RANDOM_H

#include <stdint.h>

static inline uint64_t bench_mix(uint64_t x) {
  x ^= x >> 30;
  x *= UINT64_C(0xbf58476d1ce4e5b9);
  x ^= x >> 27;
  x *= UINT64_C(0x94d049bb133111eb);
  return x ^ (x >> 31);
}

/* The i-th number of stream `pe` of `seed`. */
static inline uint64_t bench_random(uint64_t seed, uint64_t pe, uint64_t i) {
  const uint64_t gamma = UINT64_C(0x9e3779b97f4a7c15);
  return bench_mix(bench_mix(seed + gamma * (pe + 1)) + gamma * (i + 1));
}

/* Uniform in 0..bound-1, for bound < 2^32: the high half of a product, not a remainder, since the
 * generation of 10,000,000 inputs should not outlast the measurement. */
static inline uint64_t bench_below(uint64_t random, uint64_t bound) {
  return ((random >> 32) * bound) >> 32;
}

enum { BENCH_SEED = 20240229 };

/* A packed index as in the published loop: the PE in the low 16 bits, its spot above. The global
 * index g belongs to PE g % pes, at spot g / pes. */
static inline int64_t bench_packed_index(uint64_t pe, uint64_t i, uint64_t pes, uint64_t table) {
  const uint64_t global = bench_below(bench_random(BENCH_SEED, pe, i), pes * table);
  return (int64_t)(((global / pes) << 16) | (global % pes));
}

/* The histogram's checksum gives every position of the global table a weight of its own. */
static inline uint64_t bench_weight(uint64_t pe, uint64_t spot) {
  return bench_mix((pe << 40) + spot + 1);
}

/* The index-gather's table: what stands at (pe, spot). */
static inline int64_t bench_table_value(uint64_t pe, uint64_t spot) {
  return (int64_t)bench_mix((spot << 16) + pe + UINT64_C(0x5bf0a8b1));
}

#endif
