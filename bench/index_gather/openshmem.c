/* Question: what does the index-gather cost as PGAS programs are written with OpenSHMEM, one read at a time?
 *
 *   --variant blocking   the published loop: a get of one word for each index
 *   --variant nbi        the published loop with gets that do not wait; the barrier completes all of them
 */
#include "../common/random.h"
#include "../common/shmem.h"

int main(int argc, char** argv) {
  const struct bench_options options = bench_parse(argc, argv);
  const int nbi = strcmp(options.variant, "nbi") == 0;
  if (!nbi && *options.variant != '\0' && strcmp(options.variant, "blocking") != 0) {
    bench_bad_option(argv[0], "--variant", options.variant);
  }
  bench_shmem_start(argv[0], &options);
  const uint64_t me = (uint64_t)shmem_my_pe();
  const uint64_t pes = (uint64_t)shmem_n_pes();
  const uint64_t size = (uint64_t)options.table;

  long* table = bench_shmem_allocate(argv[0], size * sizeof *table);
  int64_t* packed = malloc((size_t)options.updates * sizeof *packed);
  long* target = malloc((size_t)options.updates * sizeof *target);
  if (packed == NULL || target == NULL) shmem_global_exit(1);
  for (uint64_t s = 0; s < size; ++s) table[s] = (long)bench_table_value(me, s);
  for (long i = 0; i < options.updates; ++i) {
    packed[i] = bench_packed_index(me, (uint64_t)i, pes, size);
  }

  for (long round = 0; round < options.warmup + options.samples; ++round) {
    memset(target, 0, (size_t)options.updates * sizeof *target);
    shmem_barrier_all();
    const double start = bench_now();
    if (nbi) {
      /* kernel: nbi */
      for (long i = 0; i < options.updates; ++i) {
        shmem_long_get_nbi(&target[i], &table[packed[i] >> 16], 1, (int)(packed[i] & 0xffff));
      }
      shmem_barrier_all();
      /* end of kernel */
    } else {
      /* kernel: blocking */
      for (long i = 0; i < options.updates; ++i) {
        target[i] = shmem_long_g(&table[packed[i] >> 16], (int)(packed[i] & 0xffff));
      }
      shmem_barrier_all();
      /* end of kernel */
    }
    const double seconds = bench_shmem_max(bench_now() - start);

    uint64_t wrong = 0;
    for (long i = 0; i < options.updates; ++i) {
      wrong += target[i] != bench_table_value((uint64_t)packed[i] & 0xffff,
                                              (uint64_t)packed[i] >> 16);
    }
    bench_shmem_require(argv[0], "number of wrong values", bench_shmem_sum(wrong), 0);
    if (me == 0 && round >= options.warmup) bench_report(seconds, "");
  }
  free(target);
  free(packed);
  shmem_free(table);
  shmem_finalize();
  return 0;
}
