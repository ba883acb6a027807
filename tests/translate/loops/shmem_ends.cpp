// A program of OpenSHMEM that ends in the way it is asked to: shmem_test.py.
#include <shmem.h>

#include <stdexcept>
#include <string>

static long table[10], work[SHMEM_REDUCE_SYNC_SIZE], space[SHMEM_REDUCE_MIN_WRKDATA_SIZE];

int main(int argc, char** argv) try {
  const std::string how = argc > 1 ? argv[1] : "";
  shmem_init();
  long own = 0;
  if (how == "local") shmem_long_p(&own, 1, 0);
  if (how == "grows") static_cast<void>(shmem_realloc(&own, 16));
  if (how == "frees") shmem_free(static_cast<char*>(shmem_malloc(64)) + 16);
  if (how == "twice") {
    void* const block = shmem_malloc(64);
    shmem_free(block);
    shmem_free(block);
  }
  if (how == "far") shmem_long_p(&table[0], 1, shmem_n_pes());
  if (how == "adds_far") {
    for (int i = 0; i < 9; ++i) shmem_long_atomic_inc(&table[i], shmem_n_pes());
  }
  if (how == "reads_far") {
    long values[9];
    for (int i = 0; i < 9; ++i) values[i] = shmem_long_g(&table[i], shmem_n_pes());
    if (values[0] != 0) return 7;
  }
  if (how == "some") shmem_long_sum_to_all(&table[0], &table[1], 1, 0, 0, 1, space, work);
  if (how == "returns" && shmem_my_pe() == 1) return 5;
  if (how == "returns_256" && shmem_my_pe() == shmem_n_pes() - 1) return 256;
  if (how == "exits_512" && shmem_my_pe() == shmem_n_pes() - 1) shmem_global_exit(512);
  if (how == "exits" && shmem_my_pe() == 1) shmem_global_exit(6);
  if (how == "ends" && shmem_my_pe() == 1) shmem_global_exit(0);
  if (how == "throws" && shmem_my_pe() == 1) throw std::logic_error("thrown by the program");
  shmem_barrier_all();
  shmem_finalize();
} catch (const std::invalid_argument&) {
  return 3;
}
