/* Loops over OpenSHMEM's calls that `shunt-translate loops` leaves as they are, each with the reason on its line. */
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static long table[100], other[100], word;
static long *old[4], *new_ones[4];
static char letters[9];

#define READ(i, pe) shmem_long_g(&table[i], pe)
#define ADD(i, pe) shmem_long_atomic_inc(&table[i], pe)

long anything(long);

void reads(long* target, long* from, const int* pe, const long* entry) {
  long own[100], s = 0;
  for (int i = 0; i < 9; ++i) target[i] = shmem_long_g(&table[entry[i]], pe[i]);  // refused: may change `table`
  for (int i = 0; i < 9; ++i) own[0] = s = shmem_long_g(&from[anything(i)], 0);   // refused: the loop may change `from`
  for (int i = 0; i < 9; ++i) s += shmem_long_g(&table[s % 100], 0);              // refused: depends on `s`
  for (int i = 0; i < 9; ++i) s += shmem_long_g(&table[shmem_long_g(&other[i], 0)], 0);  // refused: calls shmem_long_g
  for (int i = 0; i < 9; ++i) s += i > 3 && shmem_long_g(&table[i], 0) > 2 ? 1 : 0;      // refused: behind &&, || or ?:
  for (int i = 0; i < 9; ++i) {
    if (s > 9) break;  // refused: ends or goes on early
    s += shmem_long_g(&table[i], 0);
  }
  for (int i = 0; i < 9; ++i) {
    s += shmem_long_g(&table[i], 0);  // refused: shmem_barrier_all() stands in the same loop
    shmem_barrier_all();
  }
  for (int i = 0; i < 9; ++i) {
    s += shmem_long_g(&table[i], 0);  // refused: and changed by shmem_long_p() in one loop
    shmem_long_p(&table[i + 1], 3, 1);
  }
  while (shmem_long_g(&word, 0) == 0) s++;  // refused: in a statement that is no `for`
  for (int i = 0; i < 9; ++i) {
    table[i] = s;
    s += shmem_long_g(&table[i], 0);  // refused: the loop may change `table`
  }
  for (int i = 0; i < 9; ++i) shmem_long_get(own, &table[i], 4, 1);  // refused: moves more than one element
  for (int i = 0; i < 9; ++i) own[i] = READ(i, 0);                   // refused: a macro writes
  printf("%ld %ld\n", s, own[0]);
}

/* Another PE may change what is `restrict` while a function waits, and two pointers may be of one block. */
void changed_elsewhere(const long* restrict part, long* restrict target, int row, int* next) {
  long s = 0;
  char text[9];
  for (int i = 0; i < 9; ++i) target[i] = shmem_long_g(&part[i], (int)anything(i));  // refused: a barrier perhaps
  for (int i = 0; i < 9; ++i) {
    s += shmem_long_g(&old[row][i], 0);  // refused: and changed by shmem_long_p() in one loop
    shmem_long_p(&new_ones[row][i + 1], 3, 1);
  }
  for (int i = 0; i < 9; ++i)
    s += shmem_long_g(&table[__atomic_fetch_add(next, 1, __ATOMIC_RELAXED)], 0);  // refused: may change `table`
  for (int i = 0; text[i] = shmem_char_g(&letters[i], 0); ++i) {                  // refused: the loop's head reads
  }
  for (int i = 0; i < 9; ++i)
    shmem_long_get_nbi(&target[i], &table[shmem_long_g(&other[i], 0)], 1, 0);  // refused: asks for an element itself
  printf("%ld %d\n", s, text[0]);
}

void leaks(const int* pe) {
  long* target = malloc(9 * sizeof *target);
  long* again = target;
  for (int i = 0; i < 9; ++i) target[i] = shmem_long_g(&table[i], pe[i]);  // refused: may change `table`
  long* copied = malloc(9 * sizeof *copied);
  long* same = memcpy(copied, again, 9 * sizeof *copied);
  for (int i = 0; i < 9; ++i) copied[i] = shmem_long_g(&table[i], pe[i]);  // refused: may change `table`
  free(again);
  free(same);
}

void changes(const int* pe) {
  long mine[9];
  for (int i = 0; i < 9; ++i) ADD(i, 0);                                            // refused: a macro writes
  for (int i = 0; i < 9; ++i) mine[i] = shmem_long_atomic_fetch_inc(&word, pe[i]);  // refused: --reorder allows
  for (int i = 0; i < 9; ++i) {
    while (shmem_long_atomic_compare_swap(&word, 0, 1, pe[i]) != 0) {  // refused: waits for its answer in each round
    }
  }
  for (int i = 0; i < 9; ++i) shmem_long_p(&table[i], shmem_long_atomic_swap(&word, i, 0), 1);  // refused: waits for
  for (int i = 0; i < 9; ++i) shmem_long_p(&table[i], /* why */ i, 1);  // refused: a comment stands among
  printf("%ld\n", mine[0]);
}
