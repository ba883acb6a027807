/* A program of OpenSHMEM that looks at its own answers. shmem_test.py translates it, and runs the result on several
 * numbers of PEs. */
#include <shmem.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SIZE 100
#define ROUNDS 1000
#define FIRST_PE 0

static long counts[SIZE], table[SIZE], flags[SIZE], lock;
static int small[SIZE];
static double real[SIZE];
static unsigned int bits[4];
static char adjacent[144];

static int wrong;

static void expect(const char* what, long got, long wanted) {
  if (got == wanted) return;
  fprintf(stderr, "PE %d: %s is %ld, and should be %ld\n", shmem_my_pe(), what, got, wanted);
  wrong = 1;
}

/* Some entry, as on every run. */
static int entry_of(int pe, int round) { return (round * 7919 + pe * 13) % SIZE; }

static void histogram(const int* entries, const int* owners) {
  for (int i = 0; i < ROUNDS; ++i) {
    /* a comment that stays */
    shmem_long_atomic_inc(&counts[entries[i]], owners[i]);  // another one
    shmem_int_atomic_add((small + entries[i]), (i % 3), owners[i]);
  }
  int left = 4;
  while (left-- > 0) shmem_uint_atomic_or(bits + left, 1u << shmem_my_pe(), FIRST_PE);
  shmem_barrier_all();
}

static long gathered(long* restrict target, const int* entries, const int* owners) {
  long sum = 0;
  for (int i = 0; i < ROUNDS; ++i)
    target[i] = shmem_long_g(&table[entries[i]], owners[i]);
  for (int i = 0; i < ROUNDS; ++i) {
    const int entry = entries[i];
    if (entry % 2 == 0) {
      sum += shmem_long_g(&table[entry], owners[i]) + i % 2;  // each value once
    }
  }
  return sum;
}

/* Triangles of a complete graph of 12 vertices: each wedge asks the PE that has its row. */
static long triangles(int me, int pes) {
  long found = 0;
  for (int v = me; v < 12; v += pes) {
    for (int a = 0; a < v; ++a) {
      for (int b = 0; b < a; ++b) {
        found += shmem_char_g(&adjacent[12 * a + b], a % pes);
      }
    }
  }
  return found;
}

static void single_elements(int me, int pes) {
  long* target = malloc(SIZE * sizeof *target);
  long* later = calloc(SIZE, sizeof(long));
  double* reals = malloc(sizeof(double) * SIZE);
  for (int i = 0; i < SIZE; ++i) {
    shmem_long_get(&target[i], &table[i], 1, (me + 1) % pes);
    shmem_long_get_nbi(&later[i], &table[i], 1, me);
  }
  shmem_quiet();
  for (int i = 0; i < SIZE; ++i) {
    expect("get", target[i], 1000L * ((me + 1) % pes) + i);
    expect("get_nbi", later[i], 1000L * me + i);
    shmem_double_p(&real[i], 0.5 * i, (me + 1) % pes);
    shmem_long_put(&flags[i], &target[i], 1, me);
  }
  shmem_barrier_all();
  double sum = 0;
  for (int i = 0; i < SIZE; ++i) {
    const double there = shmem_g(&real[i], me);  // the call without a type in its name
    sum += there;
  }
  expect("sum of real numbers", (long)sum, 2475);
  for (int i = 0; i < SIZE; ++i) expect("put", flags[i], target[i]);
  free(target);
  free(later);
  free(reals);
}

static void all_at_least(const long* sums, long least, int pe) {
  long there[SIZE];
  shmem_getmem(there, sums, sizeof there, pe);
  for (int i = 0; i < SIZE; ++i) expect("sum below what has been added", there[i] < least, 0);
}

/* A third PE sees what shmem_quiet() has waited for: a PE adds to the next one, and tells the one behind that.
   Counts of messages begin anew at every second round's barrier. */
static void what_is_told_has_been_done(int me, int pes) {
  static long told;
  long* sums = shmem_calloc(SIZE, sizeof *sums);
  for (long round = 1; round <= 20; ++round) {
    for (int i = 0; i < SIZE; ++i) shmem_long_atomic_add(&sums[i], round, (me + 1) % pes);
    shmem_quiet();
    shmem_long_p(&told, round, (me + 2) % pes);
    shmem_long_wait_until(&told, SHMEM_CMP_GE, round);
    all_at_least(sums, round * (round + 1) / 2, (me + pes - 1) % pes);
    if (round % 2 == 0) shmem_barrier_all();
  }
  for (int i = 0; i < SIZE; ++i) expect("sums of all rounds", sums[i], 210);
  shmem_free(sums);
}

static char letter_at(int pe, size_t i) { return (char)('a' + (i + (size_t)pe) % 26); }

static void read_letters(const char* letters, size_t first, size_t n, int pe) {
  char* there = calloc(1, n + 1);
  shmem_getmem(there, letters + first, n, pe);
  size_t right = 0;
  while (right < n && there[right] == letter_at(pe, first + right)) ++right;
  expect("letters that were read", (long)right, (long)n);
  expect("the byte behind them", there[n], 0);
  free(there);
}

/* Reads of all lengths: of an item's, of one answer's, and longer ones. */
static void lengths(int me, int pes) {
  enum { most = 20000 };
  char* letters = shmem_malloc(most);
  for (size_t i = 0; i < most; ++i) letters[i] = letter_at(me, i);
  shmem_barrier_all();
  for (size_t n = 0; n <= 260; ++n) read_letters(letters, n, n, (me + 1) % pes);
  for (size_t n = 4094; n <= 4098; ++n) read_letters(letters, 1, n, (me + 1) % pes);
  read_letters(letters, 0, most, (me + 2) % pes);
  shmem_free(letters);
}

/* What stands in no loop, or waits: it stays as it is. */
static void other_calls(int me, int pes) {
  static long source[4], sums[4], all[64], work[SHMEM_REDUCE_SYNC_SIZE], space[SHMEM_REDUCE_MIN_WRKDATA_SIZE];
  int* heap = shmem_malloc(SIZE * sizeof(int));
  for (int i = 0; i < 4; ++i) source[i] = me + i;
  for (int i = 0; i < SIZE; ++i) heap[i] = -1;
  shmem_barrier_all();
  shmem_long_sum_to_all(sums, source, 4, 0, 0, pes, space, work);
  for (int i = 0; i < 4; ++i) expect("sum_to_all", sums[i], pes * (pes - 1) / 2 + (long)pes * i);
  shmem_long_max_reduce(SHMEM_TEAM_WORLD, sums, source, 4);
  expect("max_reduce", sums[1], pes);
  shmem_fcollect64(all, source, 2, 0, 0, pes, work);
  expect("fcollect64", all[2 * (pes - 1) + 1], pes);
  shmem_broadcast64(all, source, 4, pes - 1, 0, 0, pes, work);
  expect("broadcast64", all[0], me == pes - 1 ? 0 : pes - 1);
  for (int i = 0; i < pes; ++i) all[i] = 100 * me + i;
  shmem_barrier_all();
  static long turned[64];
  shmem_alltoall64(turned, all, 1, 0, 0, pes, work);
  expect("alltoall64", turned[pes - 1], 100 * (pes - 1) + me);

  int long_one[SIZE];
  for (int i = 0; i < SIZE; ++i) long_one[i] = 1000 * me + i;
  shmem_int_put(heap, long_one, SIZE, (me + 1) % pes);
  shmem_fence();
  shmem_long_p(&flags[0], 77, (me + 1) % pes);
  shmem_long_wait_until(&flags[0], SHMEM_CMP_EQ, 77);
  expect("put before a flag", heap[SIZE - 1], 1000 * ((me + pes - 1) % pes) + SIZE - 1);
  memset(long_one, 0, sizeof long_one);
  shmem_barrier_all();
  shmem_getmem(long_one, heap, sizeof long_one, me);
  expect("getmem", long_one[37], heap[37]);
  shmem_barrier_all();
  shmem_int_iput(heap, long_one, 2, 1, 10, me);
  shmem_quiet();
  expect("iput", heap[18], long_one[9]);

  static long total;
  shmem_set_lock(&lock);
  const long before = shmem_long_g(&total, 0);
  shmem_long_p(&total, before + me + 1, 0);
  shmem_clear_lock(&lock);
  expect("cswap", shmem_long_atomic_compare_swap(&source[0], me + 5, 1, me), me);
  expect("swap", shmem_long_atomic_swap(&source[0], 9, me), me);
  expect("fetch_add", shmem_long_atomic_fetch_add(&source[0], 2, me), 9);
  expect("fetch", shmem_long_atomic_fetch(&source[0], me), 11);
  shmem_barrier_all();
  if (me == 0) expect("sum under a lock", total, pes * (pes + 1) / 2);
  int* larger = shmem_realloc(heap, 4 * SIZE * sizeof(int));
  expect("realloc", larger[18], long_one[9]);
  expect("shmem_ptr", shmem_ptr(larger, me) == larger, 1);
  shmem_free(larger);
}

int main(int argc, char** argv) {
  shmem_init();
  const int me = shmem_my_pe(), pes = shmem_n_pes();
  int entries[ROUNDS], owners[ROUNDS];
  for (int i = 0; i < ROUNDS; ++i) entries[i] = entry_of(me, i), owners[i] = (i + me) % pes;
  for (int i = 0; i < SIZE; ++i) table[i] = 1000L * me + i;
  for (int i = 0; i < 144; ++i) adjacent[i] = i % 12 < i / 12;
  shmem_barrier_all();

  histogram(entries, owners);
  long mine = 0, added = 0, all_bits = 0;
  for (int i = 0; i < SIZE; ++i) mine += counts[i], added += small[i];
  static long one, sum, work[SHMEM_REDUCE_SYNC_SIZE], space[SHMEM_REDUCE_MIN_WRKDATA_SIZE];
  one = mine;
  shmem_long_sum_to_all(&sum, &one, 1, 0, 0, pes, space, work);
  expect("increments", sum, (long)pes * ROUNDS);
  one = added;
  shmem_long_sum_to_all(&sum, &one, 1, 0, 0, pes, space, work);
  expect("additions", sum, 999L * pes);
  for (int i = 0; i < 4; ++i) all_bits += bits[i];
  if (me == 0) expect("bits", all_bits, 4L * ((1 << pes) - 1));

  long* target = malloc(ROUNDS * sizeof *target);
  long of_evens = 0;
  const bool few = argc < 2 && argv[0] != NULL;
  if (few) {  // a loop under a condition: no other PE need come
    const long got = gathered(target, entries, owners);
    for (int i = 0; i < ROUNDS; ++i) {
      expect("g", target[i], 1000L * owners[i] + entries[i]);
      if (entries[i] % 2 == 0) of_evens += target[i] + i % 2;
    }
    expect("sum", got, of_evens);
  }
  free(target);
  one = triangles(me, pes);
  shmem_long_sum_to_all(&sum, &one, 1, 0, 0, pes, space, work);
  expect("triangles", sum, 220);
  single_elements(me, pes);
  what_is_told_has_been_done(me, pes);
  lengths(me, pes);
  other_calls(me, pes);
  if (me == 0 && !wrong) printf("all right on %d PEs\n", pes);
  shmem_finalize();
  if (wrong) return 1;
}
