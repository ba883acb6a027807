/* Question: what does the histogram cost as PGAS programs are first written, one update at a time?
 *
 * The published loop: an atomic increment of the remote counter for each index, then a barrier,
 * which completes all of them.
 */
#include "../common/random.h"
#include "../common/shmem.h"

int main(int argc, char** argv) {
  const struct bench_options options = bench_parse(argc, argv);
  bench_shmem_start(argv[0], &options);
  const uint64_t me = (uint64_t)shmem_my_pe();
  const uint64_t pes = (uint64_t)shmem_n_pes();
  const uint64_t table = (uint64_t)options.table;

  long* counts = bench_shmem_allocate(argv[0], table * sizeof *counts);
  int64_t* packed = malloc((size_t)options.updates * sizeof *packed);
  uint64_t expected = 0;
  if (packed == NULL) shmem_global_exit(1);
  for (long i = 0; i < options.updates; ++i) {
    packed[i] = bench_packed_index(me, (uint64_t)i, pes, table);
    expected += bench_weight((uint64_t)packed[i] & 0xffff, (uint64_t)packed[i] >> 16);
  }
  expected = bench_shmem_sum(expected);

  for (long round = 0; round < options.warmup + options.samples; ++round) {
    memset(counts, 0, table * sizeof *counts);
    shmem_barrier_all();
    const double start = bench_now();
    /* kernel: openshmem */
    for (long i = 0; i < options.updates; ++i) {
      const int pe = (int)(packed[i] & 0xffff);
      shmem_long_atomic_inc(&counts[packed[i] >> 16], pe);
    }
    shmem_barrier_all();
    /* end of kernel */
    const double seconds = bench_shmem_max(bench_now() - start);

    uint64_t sum = 0, weighted = 0;
    for (uint64_t s = 0; s < table; ++s) {
      sum += (uint64_t)counts[s];
      weighted += (uint64_t)counts[s] * bench_weight(me, s);
    }
    bench_shmem_require(argv[0], "sum", bench_shmem_sum(sum), pes * (uint64_t)options.updates);
    bench_shmem_require(argv[0], "weighted sum", bench_shmem_sum(weighted), expected);
    if (me == 0 && round >= options.warmup) bench_report(seconds, "");
  }
  free(packed);
  shmem_free(counts);
  shmem_finalize();
  return 0;
}
