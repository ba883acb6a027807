/* OpenSHMEM's header, for programs that run on Shunt: put the folder of this file in front of the include path.
 *
 *   c++ -std=c++20 -I PREFIX/include/shunt/pgas/openshmem -I PREFIX/include program.cpp ...
 *
 * A program is C++ here, and its main() calls shmem::launch(): `shunt-translate loops` writes both, and makes messages
 * of the calls that stand in loops. docs/manual/translate.md says what else is asked of a program.
 *
 * The calls are those of OpenSHMEM 1.4, and the reductions, broadcasts and collections of 1.5 over SHMEM_TEAM_WORLD.
 * Not there: contexts, other teams, active sets of some PEs only, signals, long double, complex numbers, strided calls
 * that name a width (shmem_iput32, shmem_alltoalls32).
 */
#ifndef SHUNT_PGAS_OPENSHMEM_SHMEM_H
#define SHUNT_PGAS_OPENSHMEM_SHMEM_H

#if !defined(__cplusplus) && !defined(SHUNT_TRANSLATE)
#error "OpenSHMEM on Shunt is C++: `shunt-translate loops FILE.c --in-place` writes FILE.cpp"
#endif

#include <stddef.h>
#include <stdint.h>

#define SHMEM_MAJOR_VERSION 1
#define SHMEM_MINOR_VERSION 4
#define SHMEM_MAX_NAME_LEN 64
#define SHMEM_VENDOR_STRING "Shunt"

#define SHMEM_CMP_EQ 0
#define SHMEM_CMP_NE 1
#define SHMEM_CMP_GT 2
#define SHMEM_CMP_LE 3
#define SHMEM_CMP_LT 4
#define SHMEM_CMP_GE 5

#define SHMEM_SYNC_VALUE 0
#define SHMEM_SYNC_SIZE 1
#define SHMEM_BARRIER_SYNC_SIZE 1
#define SHMEM_BCAST_SYNC_SIZE 1
#define SHMEM_COLLECT_SYNC_SIZE 1
#define SHMEM_REDUCE_SYNC_SIZE 1
#define SHMEM_ALLTOALL_SYNC_SIZE 1
#define SHMEM_REDUCE_MIN_WRKDATA_SIZE 1

#define SHMEM_THREAD_SINGLE 0
#define SHMEM_THREAD_FUNNELED 1
#define SHMEM_THREAD_SERIALIZED 2
#define SHMEM_THREAD_MULTIPLE 3

typedef int shmem_team_t;
#define SHMEM_TEAM_WORLD ((shmem_team_t)0)

/* Lists of types: X(type, name). */
#define SHUNT_SHMEM_INTEGERS(X)                                                                                       \
  X(int, int)                                                                                                         \
  X(long, long) X(long long, longlong) X(unsigned int, uint) X(unsigned long, ulong) X(unsigned long long, ulonglong) \
      X(int32_t, int32) X(int64_t, int64) X(uint32_t, uint32) X(uint64_t, uint64) X(size_t, size)                     \
          X(ptrdiff_t, ptrdiff)
#define SHUNT_SHMEM_FLOATS(X) X(float, float) X(double, double)
#define SHUNT_SHMEM_SHORT(X)                                                                              \
  X(char, char)                                                                                           \
  X(signed char, schar) X(short, short) X(unsigned char, uchar) X(unsigned short, ushort) X(int8_t, int8) \
      X(int16_t, int16) X(uint8_t, uint8) X(uint16_t, uint16)
#define SHUNT_SHMEM_TYPES(X) SHUNT_SHMEM_INTEGERS(X) SHUNT_SHMEM_FLOATS(X) SHUNT_SHMEM_SHORT(X)
#define SHUNT_SHMEM_SWAPPED(X) SHUNT_SHMEM_INTEGERS(X) SHUNT_SHMEM_FLOATS(X)
/* Each type once, for calls without a type in their names. */
#define SHUNT_SHMEM_DISTINCT(X) \
  X(int, int)                   \
  X(long, long) X(long long, longlong) X(unsigned int, uint) X(unsigned long, ulong) X(unsigned long long, ulonglong)
#define SHUNT_SHMEM_DISTINCT_OTHERS(X)                                                          \
  X(float, float)                                                                               \
  X(double, double) X(char, char) X(signed char, schar) X(short, short) X(unsigned char, uchar) \
      X(unsigned short, ushort)
#define SHUNT_SHMEM_WIDTHS(X) X(8, 1) X(16, 2) X(32, 4) X(64, 8) X(128, 16)

#ifdef __cplusplus
#include <shunt/pgas/openshmem/calls.hpp>
#include <shunt/pgas/openshmem/shmem_calls.hpp>
/* What translated loops and main() call: shmem::send, shmem::ask, shmem::answered, shmem::launch. */
namespace shmem = shunt::pgas::openshmem;
#else
/* For shunt-translate alone, which reads C: what a program calls, with its types. */
#define SHUNT_SHMEM_GENERIC __attribute__((overloadable))
void shmem_init(void);
int shmem_init_thread(int wanted, int* provided);
void shmem_query_thread(int* provided);
void start_pes(int pes);
void shmem_finalize(void);
void shmem_global_exit(int status) __attribute__((noreturn));
int shmem_my_pe(void);
int shmem_n_pes(void);
int _my_pe(void);
int _num_pes(void);
int shmem_pe_accessible(int pe);
int shmem_addr_accessible(const void* at, int pe);
void* shmem_ptr(const void* at, int pe);
void shmem_info_get_version(int* major, int* minor);
void shmem_info_get_name(char* name);
int shmem_team_my_pe(shmem_team_t team);
int shmem_team_n_pes(shmem_team_t team);
void* shmem_malloc(size_t bytes);
void* shmem_align(size_t alignment, size_t bytes);
void* shmem_calloc(size_t count, size_t bytes);
void* shmem_realloc(void* block, size_t bytes);
void shmem_free(void* block);
void* shmalloc(size_t bytes);
void shfree(void* block);
void shmem_barrier_all(void);
void shmem_sync_all(void);
void shmem_barrier(int start, int log_stride, int count, long* work);
void shmem_sync(int start, int log_stride, int count, long* work);
int shmem_team_sync(shmem_team_t team);
void shmem_quiet(void);
void shmem_fence(void);
void shmem_set_lock(long* word);
int shmem_test_lock(long* word);
void shmem_clear_lock(long* word);
void shmem_putmem(void* to, const void* from, size_t bytes, int pe);
void shmem_putmem_nbi(void* to, const void* from, size_t bytes, int pe);
void shmem_getmem(void* to, const void* from, size_t bytes, int pe);
void shmem_getmem_nbi(void* to, const void* from, size_t bytes, int pe);
#define SHUNT_SHMEM_OF_WIDTH(BITS, BYTES)                                   \
  void shmem_put##BITS(void* to, const void* from, size_t n, int pe);       \
  void shmem_put##BITS##_nbi(void* to, const void* from, size_t n, int pe); \
  void shmem_get##BITS(void* to, const void* from, size_t n, int pe);       \
  void shmem_get##BITS##_nbi(void* to, const void* from, size_t n, int pe);
SHUNT_SHMEM_WIDTHS(SHUNT_SHMEM_OF_WIDTH)
/* A: an attribute; N: the type in the name, with a `_` behind it. */
#define SHUNT_SHMEM_ELEMENTS(TYPE, N, A)                                                                        \
  void A shmem_##N##p(TYPE* to, TYPE value, int pe);                                                            \
  TYPE A shmem_##N##g(const TYPE* from, int pe);                                                                \
  void A shmem_##N##put(TYPE* to, const TYPE* from, size_t n, int pe);                                          \
  void A shmem_##N##put_nbi(TYPE* to, const TYPE* from, size_t n, int pe);                                      \
  void A shmem_##N##get(TYPE* to, const TYPE* from, size_t n, int pe);                                          \
  void A shmem_##N##get_nbi(TYPE* to, const TYPE* from, size_t n, int pe);                                      \
  void A shmem_##N##iput(TYPE* to, const TYPE* from, ptrdiff_t to_step, ptrdiff_t from_step, size_t n, int pe); \
  void A shmem_##N##iget(TYPE* to, const TYPE* from, ptrdiff_t to_step, ptrdiff_t from_step, size_t n, int pe);
#define SHUNT_SHMEM_SWAPS(TYPE, N, A)                         \
  TYPE A shmem_##N##atomic_fetch(const TYPE* from, int pe);   \
  void A shmem_##N##atomic_set(TYPE* at, TYPE value, int pe); \
  TYPE A shmem_##N##atomic_swap(TYPE* at, TYPE value, int pe);
#define SHUNT_SHMEM_ATOMICS(TYPE, N, A)                                               \
  void A shmem_##N##atomic_inc(TYPE* at, int pe);                                     \
  void A shmem_##N##atomic_add(TYPE* at, TYPE value, int pe);                         \
  void A shmem_##N##atomic_and(TYPE* at, TYPE value, int pe);                         \
  void A shmem_##N##atomic_or(TYPE* at, TYPE value, int pe);                          \
  void A shmem_##N##atomic_xor(TYPE* at, TYPE value, int pe);                         \
  TYPE A shmem_##N##atomic_fetch_inc(TYPE* at, int pe);                               \
  TYPE A shmem_##N##atomic_fetch_add(TYPE* at, TYPE value, int pe);                   \
  TYPE A shmem_##N##atomic_fetch_and(TYPE* at, TYPE value, int pe);                   \
  TYPE A shmem_##N##atomic_fetch_or(TYPE* at, TYPE value, int pe);                    \
  TYPE A shmem_##N##atomic_fetch_xor(TYPE* at, TYPE value, int pe);                   \
  TYPE A shmem_##N##atomic_compare_swap(TYPE* at, TYPE expected, TYPE value, int pe); \
  void A shmem_##N##wait_until(TYPE* at, int how, TYPE value);                        \
  int A shmem_##N##test(TYPE* at, int how, TYPE value);
#define SHUNT_SHMEM_OF_TYPE(TYPE, NAME) SHUNT_SHMEM_ELEMENTS(TYPE, NAME##_, )
#define SHUNT_SHMEM_OF_SWAPPED(TYPE, NAME)               \
  SHUNT_SHMEM_SWAPS(TYPE, NAME##_, )                     \
  TYPE shmem_##NAME##_fetch(const TYPE* from, int pe);   \
  void shmem_##NAME##_set(TYPE* at, TYPE value, int pe); \
  TYPE shmem_##NAME##_swap(TYPE* at, TYPE value, int pe);
#define SHUNT_SHMEM_OF_INTEGER(TYPE, NAME)                                \
  SHUNT_SHMEM_ATOMICS(TYPE, NAME##_, )                                    \
  void shmem_##NAME##_inc(TYPE* at, int pe);                              \
  void shmem_##NAME##_add(TYPE* at, TYPE value, int pe);                  \
  TYPE shmem_##NAME##_finc(TYPE* at, int pe);                             \
  TYPE shmem_##NAME##_fadd(TYPE* at, TYPE value, int pe);                 \
  TYPE shmem_##NAME##_cswap(TYPE* at, TYPE expected, TYPE value, int pe); \
  void shmem_##NAME##_wait(TYPE* at, TYPE value);
SHUNT_SHMEM_TYPES(SHUNT_SHMEM_OF_TYPE)
SHUNT_SHMEM_SWAPPED(SHUNT_SHMEM_OF_SWAPPED)
SHUNT_SHMEM_INTEGERS(SHUNT_SHMEM_OF_INTEGER)
#define SHUNT_SHMEM_GENERIC_ELEMENTS(TYPE, NAME) SHUNT_SHMEM_ELEMENTS(TYPE, , SHUNT_SHMEM_GENERIC)
#define SHUNT_SHMEM_GENERIC_SWAPS(TYPE, NAME) SHUNT_SHMEM_SWAPS(TYPE, , SHUNT_SHMEM_GENERIC)
#define SHUNT_SHMEM_GENERIC_ATOMICS(TYPE, NAME) SHUNT_SHMEM_ATOMICS(TYPE, , SHUNT_SHMEM_GENERIC)
SHUNT_SHMEM_DISTINCT(SHUNT_SHMEM_GENERIC_ELEMENTS)
SHUNT_SHMEM_DISTINCT_OTHERS(SHUNT_SHMEM_GENERIC_ELEMENTS)
SHUNT_SHMEM_DISTINCT(SHUNT_SHMEM_GENERIC_SWAPS)
SHUNT_SHMEM_FLOATS(SHUNT_SHMEM_GENERIC_SWAPS)
SHUNT_SHMEM_DISTINCT(SHUNT_SHMEM_GENERIC_ATOMICS)
#define SHUNT_SHMEM_REDUCTION(TYPE, NAME, OP)                                                              \
  int shmem_##NAME##_##OP##_reduce(shmem_team_t team, TYPE* to, const TYPE* from, size_t n);               \
  void shmem_##NAME##_##OP##_to_all(TYPE* to, const TYPE* from, int n, int start, int log_stride, int pes, \
                                    TYPE* space, long* work);
#define SHUNT_SHMEM_ARITHMETIC(TYPE, NAME) \
  SHUNT_SHMEM_REDUCTION(TYPE, NAME, sum)   \
  SHUNT_SHMEM_REDUCTION(TYPE, NAME, prod)  \
  SHUNT_SHMEM_REDUCTION(TYPE, NAME, min)   \
  SHUNT_SHMEM_REDUCTION(TYPE, NAME, max)
#define SHUNT_SHMEM_BITS(TYPE, NAME)     \
  SHUNT_SHMEM_REDUCTION(TYPE, NAME, and) \
  SHUNT_SHMEM_REDUCTION(TYPE, NAME, or)  \
  SHUNT_SHMEM_REDUCTION(TYPE, NAME, xor)
SHUNT_SHMEM_TYPES(SHUNT_SHMEM_ARITHMETIC)
SHUNT_SHMEM_INTEGERS(SHUNT_SHMEM_BITS)
SHUNT_SHMEM_BITS(short, short)
#define SHUNT_SHMEM_COLLECTION(BITS)                                                                               \
  void shmem_broadcast##BITS(void* to, const void* from, size_t n, int root, int start, int log_stride, int pes,   \
                             long* work);                                                                          \
  void shmem_collect##BITS(void* to, const void* from, size_t n, int start, int log_stride, int pes, long* work);  \
  void shmem_fcollect##BITS(void* to, const void* from, size_t n, int start, int log_stride, int pes, long* work); \
  void shmem_alltoall##BITS(void* to, const void* from, size_t n, int start, int log_stride, int pes, long* work);
SHUNT_SHMEM_COLLECTION(32)
SHUNT_SHMEM_COLLECTION(64)
int shmem_broadcastmem(shmem_team_t team, void* to, const void* from, size_t bytes, int root);
int shmem_collectmem(shmem_team_t team, void* to, const void* from, size_t bytes);
int shmem_fcollectmem(shmem_team_t team, void* to, const void* from, size_t bytes);
int shmem_alltoallmem(shmem_team_t team, void* to, const void* from, size_t bytes);
#endif

#endif
