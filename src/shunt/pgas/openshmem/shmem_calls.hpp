/// The functions of OpenSHMEM: included by shmem.h, which has the lists of types. Operators are passed to macros as
/// `_and`, since `and` is no name in C++.
#pragma once

#include <algorithm>
#include <type_traits>

#include <shunt/pgas/openshmem/shmem.h>
#include <shunt/pgas/openshmem/calls.hpp>

// --- the program -----------------------------------------------------------------------------------------------------

inline void shmem_init() { shunt::pgas::openshmem::world::here().barrier(); }
inline int shmem_init_thread(int, int* provided) {
  *provided = SHMEM_THREAD_SINGLE;
  shmem_init();
  return 0;
}
inline void shmem_query_thread(int* provided) { *provided = SHMEM_THREAD_SINGLE; }
inline void start_pes(int) { shmem_init(); }
inline void shmem_finalize() { shunt::pgas::openshmem::finalize(); }
[[noreturn]] inline void shmem_global_exit(int status) { shunt::pgas::openshmem::end_job(status); }
inline int shmem_my_pe() { return shunt::pgas::openshmem::world::here().me().index(); }
inline int shmem_n_pes() { return shunt::pgas::openshmem::world::here().me().count(); }
inline int _my_pe() { return shmem_my_pe(); }
inline int _num_pes() { return shmem_n_pes(); }
inline int shmem_pe_accessible(int pe) { return pe >= 0 && pe < shmem_n_pes() ? 1 : 0; }
inline int shmem_addr_accessible(const void* at, int pe) {
  return shmem_pe_accessible(pe) != 0 && shunt::pgas::openshmem::world::here().is_symmetric(at) ? 1 : 0;
}
/// Other PEs' memory is not this process's.
inline void* shmem_ptr(const void* at, int pe) { return pe == shmem_my_pe() ? const_cast<void*>(at) : nullptr; }
inline void shmem_info_get_version(int* major, int* minor) {
  *major = SHMEM_MAJOR_VERSION;
  *minor = SHMEM_MINOR_VERSION;
}
inline void shmem_info_get_name(char* name) {
  constexpr char vendor[] = SHMEM_VENDOR_STRING;
  std::copy(std::begin(vendor), std::end(vendor), name);
}
inline int shmem_team_my_pe(shmem_team_t) { return shmem_my_pe(); }
inline int shmem_team_n_pes(shmem_team_t) { return shmem_n_pes(); }

// --- memory ----------------------------------------------------------------------------------------------------------

inline void* shmem_malloc(size_t bytes) { return shunt::pgas::openshmem::world::here().allocate(bytes, 1); }
inline void* shmem_align(size_t alignment, size_t bytes) {
  return shunt::pgas::openshmem::world::here().allocate(bytes, alignment);
}
inline void* shmem_calloc(size_t count, size_t bytes) {
  auto& all = shunt::pgas::openshmem::world::here();
  void* const block = bytes != 0 && count > SIZE_MAX / bytes ? nullptr : all.allocate(count * bytes, 1);
  if (block != nullptr) std::memset(block, 0, count * bytes);
  all.barrier();
  return block;
}
inline void* shmem_realloc(void* block, size_t bytes) {
  return shunt::pgas::openshmem::world::here().reallocate(block, bytes);
}
inline void shmem_free(void* block) { shunt::pgas::openshmem::world::here().free(block); }
inline void* shmalloc(size_t bytes) { return shmem_malloc(bytes); }
inline void shfree(void* block) { shmem_free(block); }

// --- order and completion --------------------------------------------------------------------------------------------

inline void shmem_barrier_all() { shunt::pgas::openshmem::world::here().barrier(); }
inline void shmem_sync_all() { shunt::pgas::openshmem::world::here().me().barrier(); }
inline void shmem_barrier(int start, int log_stride, int count, long*) {
  shunt::pgas::openshmem::require_all_pes(start, log_stride, count);
  shmem_barrier_all();
}
inline void shmem_sync(int start, int log_stride, int count, long*) {
  shunt::pgas::openshmem::require_all_pes(start, log_stride, count);
  shmem_sync_all();
}
inline int shmem_team_sync(shmem_team_t) { return shmem_sync_all(), 0; }
inline void shmem_quiet() { shunt::pgas::openshmem::world::here().quiet(); }
/// Messages have no order but this one.
inline void shmem_fence() { shunt::pgas::openshmem::world::here().quiet(); }

inline void shmem_set_lock(long* word) { shunt::pgas::openshmem::lock(word); }
inline int shmem_test_lock(long* word) { return shunt::pgas::openshmem::try_lock(word) ? 0 : 1; }
inline void shmem_clear_lock(long* word) { shunt::pgas::openshmem::unlock(word); }

// --- bytes -----------------------------------------------------------------------------------------------------------

inline void shmem_putmem(void* to, const void* from, size_t bytes, int pe) {
  shunt::pgas::openshmem::world::here().put(to, from, bytes, pe);
}
inline void shmem_putmem_nbi(void* to, const void* from, size_t bytes, int pe) { shmem_putmem(to, from, bytes, pe); }
inline void shmem_getmem_nbi(void* to, const void* from, size_t bytes, int pe) {
  shunt::pgas::openshmem::world::here().get(to, from, bytes, pe);
}
inline void shmem_getmem(void* to, const void* from, size_t bytes, int pe) {
  shmem_getmem_nbi(to, from, bytes, pe);
  shunt::pgas::openshmem::answered();
}
#define SHUNT_SHMEM_OF_WIDTH(BITS, BYTES)                                                                             \
  inline void shmem_put##BITS(void* to, const void* from, size_t n, int pe) { shmem_putmem(to, from, n* BYTES, pe); } \
  inline void shmem_put##BITS##_nbi(void* to, const void* from, size_t n, int pe) {                                   \
    shmem_putmem(to, from, n* BYTES, pe);                                                                             \
  }                                                                                                                   \
  inline void shmem_get##BITS(void* to, const void* from, size_t n, int pe) { shmem_getmem(to, from, n* BYTES, pe); } \
  inline void shmem_get##BITS##_nbi(void* to, const void* from, size_t n, int pe) {                                   \
    shmem_getmem_nbi(to, from, n* BYTES, pe);                                                                         \
  }
SHUNT_SHMEM_WIDTHS(SHUNT_SHMEM_OF_WIDTH)
#undef SHUNT_SHMEM_OF_WIDTH

// --- elements --------------------------------------------------------------------------------------------------------

template <class T>
void shmem_p(T* to, std::type_identity_t<T> value, int pe) {
  namespace calls = shunt::pgas::openshmem;
  calls::change(to, sizeof(T), calls::operation::put, calls::bits_of(value), pe);
}
template <class T>
T shmem_g(const T* from, int pe) {
  namespace calls = shunt::pgas::openshmem;
  return calls::from_bits<T>(calls::fetch(from, sizeof(T), pe));
}
template <class T>
void shmem_put(T* to, const T* from, size_t n, int pe) {
  shmem_putmem(to, from, n * sizeof(T), pe);
}
template <class T>
void shmem_put_nbi(T* to, const T* from, size_t n, int pe) {
  shmem_putmem(to, from, n * sizeof(T), pe);
}
template <class T>
void shmem_get(T* to, const T* from, size_t n, int pe) {
  shmem_getmem(to, from, n * sizeof(T), pe);
}
template <class T>
void shmem_get_nbi(T* to, const T* from, size_t n, int pe) {
  shmem_getmem_nbi(to, from, n * sizeof(T), pe);
}
template <class T>
void shmem_iput(T* to, const T* from, ptrdiff_t to_step, ptrdiff_t from_step, size_t n, int pe) {
  for (size_t i = 0; i != n; ++i, to += to_step, from += from_step) shmem_p(to, *from, pe);
}
template <class T>
void shmem_iget(T* to, const T* from, ptrdiff_t to_step, ptrdiff_t from_step, size_t n, int pe) {
  for (size_t i = 0; i != n; ++i, to += to_step, from += from_step) shmem_getmem_nbi(to, from, sizeof(T), pe);
  shunt::pgas::openshmem::answered();
}

// --- atomic operations -----------------------------------------------------------------------------------------------

namespace shunt {
inline namespace v1 {
namespace pgas {
namespace openshmem {

/// change() of an element of type T.
template <class T>
void change_value(T* at, operation what, T operand, int pe) {
  change(at, sizeof(T), what, bits_of(operand), pe);
}
/// fetch_change() of an element of type T.
template <class T>
T fetch_change_value(T* at, operation what, T operand, int pe) {
  return from_bits<T>(fetch_change(at, sizeof(T), what, bits_of(operand), pe));
}
/// Whether `*at` compares with `value` as `how` says. \param how  SHMEM_CMP_EQ and so on
template <class T>
[[nodiscard]] bool compares(const volatile T* at, int how, T value) {
  const T now = *at;
  switch (how) {
    case SHMEM_CMP_EQ: return now == value;
    case SHMEM_CMP_NE: return now != value;
    case SHMEM_CMP_GT: return now > value;
    case SHMEM_CMP_LE: return now <= value;
    case SHMEM_CMP_LT: return now < value;
    default: return now >= value;
  }
}

}  // namespace openshmem
}  // namespace pgas
}  // namespace v1
}  // namespace shunt

#define SHUNT_SHMEM_ATOMIC(OP, WHAT)                                            \
  template <class T>                                                            \
  void shmem_atomic##OP(T* at, std::type_identity_t<T> value, int pe) {         \
    namespace calls = shunt::pgas::openshmem;                                   \
    calls::change_value<T>(at, calls::operation::WHAT, value, pe);              \
  }                                                                             \
  template <class T>                                                            \
  T shmem_atomic_fetch##OP(T* at, std::type_identity_t<T> value, int pe) {      \
    namespace calls = shunt::pgas::openshmem;                                   \
    return calls::fetch_change_value<T>(at, calls::operation::WHAT, value, pe); \
  }
SHUNT_SHMEM_ATOMIC(_add, add)
SHUNT_SHMEM_ATOMIC(_and, bit_and)
SHUNT_SHMEM_ATOMIC(_or, bit_or)
SHUNT_SHMEM_ATOMIC(_xor, bit_xor)
#undef SHUNT_SHMEM_ATOMIC

template <class T>
T shmem_atomic_fetch(const T* from, int pe) {
  return shmem_g(from, pe);
}
template <class T>
void shmem_atomic_set(T* at, std::type_identity_t<T> value, int pe) {
  shmem_p(at, value, pe);
}
template <class T>
void shmem_atomic_inc(T* at, int pe) {
  shmem_atomic_add(at, T{1}, pe);
}
template <class T>
T shmem_atomic_fetch_inc(T* at, int pe) {
  return shmem_atomic_fetch_add(at, T{1}, pe);
}
template <class T>
T shmem_atomic_swap(T* at, std::type_identity_t<T> value, int pe) {
  namespace calls = shunt::pgas::openshmem;
  return calls::fetch_change_value<T>(at, calls::operation::put, value, pe);
}
template <class T>
T shmem_atomic_compare_swap(T* at, std::type_identity_t<T> expected, std::type_identity_t<T> value, int pe) {
  namespace calls = shunt::pgas::openshmem;
  return calls::from_bits<T>(calls::compare_swap(at, sizeof(T), calls::bits_of(expected), calls::bits_of(value), pe));
}
template <class T>
void shmem_wait_until(T* at, int how, std::type_identity_t<T> value) {
  namespace calls = shunt::pgas::openshmem;
  calls::world::here().wait_until("shmem_wait_until()", [&] { return calls::compares<T>(at, how, value); });
}
template <class T>
int shmem_test(T* at, int how, std::type_identity_t<T> value) {
  namespace calls = shunt::pgas::openshmem;
  if (!calls::compares<T>(at, how, value)) calls::world::here().progress();
  return calls::compares<T>(at, how, value) ? 1 : 0;
}

// --- the same with types in their names ------------------------------------------------------------------------------

#define SHUNT_SHMEM_OF_TYPE(TYPE, NAME)                                                                                \
  inline void shmem_##NAME##_p(TYPE* to, TYPE value, int pe) { shmem_p(to, value, pe); }                               \
  inline TYPE shmem_##NAME##_g(const TYPE* from, int pe) { return shmem_g(from, pe); }                                 \
  inline void shmem_##NAME##_put(TYPE* to, const TYPE* from, size_t n, int pe) { shmem_put(to, from, n, pe); }         \
  inline void shmem_##NAME##_put_nbi(TYPE* to, const TYPE* from, size_t n, int pe) { shmem_put(to, from, n, pe); }     \
  inline void shmem_##NAME##_get(TYPE* to, const TYPE* from, size_t n, int pe) { shmem_get(to, from, n, pe); }         \
  inline void shmem_##NAME##_get_nbi(TYPE* to, const TYPE* from, size_t n, int pe) { shmem_get_nbi(to, from, n, pe); } \
  inline void shmem_##NAME##_iput(TYPE* to, const TYPE* from, ptrdiff_t to_step, ptrdiff_t from_step, size_t n,        \
                                  int pe) {                                                                            \
    shmem_iput(to, from, to_step, from_step, n, pe);                                                                   \
  }                                                                                                                    \
  inline void shmem_##NAME##_iget(TYPE* to, const TYPE* from, ptrdiff_t to_step, ptrdiff_t from_step, size_t n,        \
                                  int pe) {                                                                            \
    shmem_iget(to, from, to_step, from_step, n, pe);                                                                   \
  }
SHUNT_SHMEM_TYPES(SHUNT_SHMEM_OF_TYPE)
#undef SHUNT_SHMEM_OF_TYPE

// Those without `atomic` are of OpenSHMEM 1.3.
#define SHUNT_SHMEM_OF_SWAPPED(TYPE, NAME)                                                                          \
  inline TYPE shmem_##NAME##_atomic_fetch(const TYPE* from, int pe) { return shmem_g(from, pe); }                   \
  inline TYPE shmem_##NAME##_fetch(const TYPE* from, int pe) { return shmem_g(from, pe); }                          \
  inline void shmem_##NAME##_atomic_set(TYPE* at, TYPE value, int pe) { shmem_p(at, value, pe); }                   \
  inline void shmem_##NAME##_set(TYPE* at, TYPE value, int pe) { shmem_p(at, value, pe); }                          \
  inline TYPE shmem_##NAME##_atomic_swap(TYPE* at, TYPE value, int pe) { return shmem_atomic_swap(at, value, pe); } \
  inline TYPE shmem_##NAME##_swap(TYPE* at, TYPE value, int pe) { return shmem_atomic_swap(at, value, pe); }
SHUNT_SHMEM_SWAPPED(SHUNT_SHMEM_OF_SWAPPED)
#undef SHUNT_SHMEM_OF_SWAPPED

#define SHUNT_SHMEM_OF_INTEGER(TYPE, NAME)                                                                        \
  inline void shmem_##NAME##_atomic_inc(TYPE* at, int pe) { shmem_atomic_inc(at, pe); }                           \
  inline void shmem_##NAME##_inc(TYPE* at, int pe) { shmem_atomic_inc(at, pe); }                                  \
  inline void shmem_##NAME##_atomic_add(TYPE* at, TYPE value, int pe) { shmem_atomic_add(at, value, pe); }        \
  inline void shmem_##NAME##_add(TYPE* at, TYPE value, int pe) { shmem_atomic_add(at, value, pe); }               \
  inline TYPE shmem_##NAME##_atomic_fetch_inc(TYPE* at, int pe) { return shmem_atomic_fetch_inc(at, pe); }        \
  inline TYPE shmem_##NAME##_finc(TYPE* at, int pe) { return shmem_atomic_fetch_inc(at, pe); }                    \
  inline TYPE shmem_##NAME##_atomic_fetch_add(TYPE* at, TYPE value, int pe) {                                     \
    return shmem_atomic_fetch_add(at, value, pe);                                                                 \
  }                                                                                                               \
  inline TYPE shmem_##NAME##_fadd(TYPE* at, TYPE value, int pe) { return shmem_atomic_fetch_add(at, value, pe); } \
  inline void shmem_##NAME##_atomic_and(TYPE* at, TYPE value, int pe) { shmem_atomic_and(at, value, pe); }        \
  inline void shmem_##NAME##_atomic_or(TYPE* at, TYPE value, int pe) { shmem_atomic_or(at, value, pe); }          \
  inline void shmem_##NAME##_atomic_xor(TYPE* at, TYPE value, int pe) { shmem_atomic_xor(at, value, pe); }        \
  inline TYPE shmem_##NAME##_atomic_fetch_and(TYPE* at, TYPE value, int pe) {                                     \
    return shmem_atomic_fetch_and(at, value, pe);                                                                 \
  }                                                                                                               \
  inline TYPE shmem_##NAME##_atomic_fetch_or(TYPE* at, TYPE value, int pe) {                                      \
    return shmem_atomic_fetch_or(at, value, pe);                                                                  \
  }                                                                                                               \
  inline TYPE shmem_##NAME##_atomic_fetch_xor(TYPE* at, TYPE value, int pe) {                                     \
    return shmem_atomic_fetch_xor(at, value, pe);                                                                 \
  }                                                                                                               \
  inline TYPE shmem_##NAME##_atomic_compare_swap(TYPE* at, TYPE expected, TYPE value, int pe) {                   \
    return shmem_atomic_compare_swap(at, expected, value, pe);                                                    \
  }                                                                                                               \
  inline TYPE shmem_##NAME##_cswap(TYPE* at, TYPE expected, TYPE value, int pe) {                                 \
    return shmem_atomic_compare_swap(at, expected, value, pe);                                                    \
  }                                                                                                               \
  inline void shmem_##NAME##_wait_until(TYPE* at, int how, TYPE value) { shmem_wait_until(at, how, value); }      \
  inline void shmem_##NAME##_wait(TYPE* at, TYPE value) { shmem_wait_until(at, SHMEM_CMP_NE, value); }            \
  inline int shmem_##NAME##_test(TYPE* at, int how, TYPE value) { return shmem_test(at, how, value); }
SHUNT_SHMEM_INTEGERS(SHUNT_SHMEM_OF_INTEGER)
#undef SHUNT_SHMEM_OF_INTEGER

// --- collective calls ------------------------------------------------------------------------------------------------

#define SHUNT_SHMEM_REDUCTION(TYPE, NAME, OP, EXPRESSION)                                                             \
  inline int shmem_##NAME##OP##_reduce(shmem_team_t, TYPE* to, const TYPE* from, size_t n) {                          \
    shunt::pgas::openshmem::reduce(to, from, n, sizeof(TYPE), [](void* into, const void* of, std::size_t count) {     \
      auto* const all = static_cast<TYPE*>(into);                                                                     \
      for (std::size_t i = 0; i != count; ++i) {                                                                      \
        const TYPE a = all[i], b = static_cast<const TYPE*>(of)[i];                                                   \
        all[i] = static_cast<TYPE>(EXPRESSION);                                                                       \
      }                                                                                                               \
    });                                                                                                               \
    return 0;                                                                                                         \
  }                                                                                                                   \
  inline void shmem_##NAME##OP##_to_all(TYPE* to, const TYPE* from, int n, int start, int log_stride, int pes, TYPE*, \
                                        long*) {                                                                      \
    shunt::pgas::openshmem::require_all_pes(start, log_stride, pes);                                                  \
    static_cast<void>(shmem_##NAME##OP##_reduce(SHMEM_TEAM_WORLD, to, from, static_cast<size_t>(n)));                 \
  }
#define SHUNT_SHMEM_ARITHMETIC(TYPE, NAME)                                           \
  SHUNT_SHMEM_REDUCTION(TYPE, NAME, _sum, shunt::pgas::openshmem::sum_of(a, b))      \
  SHUNT_SHMEM_REDUCTION(TYPE, NAME, _prod, shunt::pgas::openshmem::product_of(a, b)) \
  SHUNT_SHMEM_REDUCTION(TYPE, NAME, _min, b < a ? b : a)                             \
  SHUNT_SHMEM_REDUCTION(TYPE, NAME, _max, a < b ? b : a)
#define SHUNT_SHMEM_BITS(TYPE, NAME)            \
  SHUNT_SHMEM_REDUCTION(TYPE, NAME, _and, a& b) \
  SHUNT_SHMEM_REDUCTION(TYPE, NAME, _or, a | b) \
  SHUNT_SHMEM_REDUCTION(TYPE, NAME, _xor, a ^ b)
SHUNT_SHMEM_TYPES(SHUNT_SHMEM_ARITHMETIC)
SHUNT_SHMEM_INTEGERS(SHUNT_SHMEM_BITS)
SHUNT_SHMEM_BITS(short, short)
#undef SHUNT_SHMEM_BITS
#undef SHUNT_SHMEM_ARITHMETIC
#undef SHUNT_SHMEM_REDUCTION

#define SHUNT_SHMEM_COLLECTION(BITS)                                                                                  \
  inline void shmem_broadcast##BITS(void* to, const void* from, size_t n, int root, int start, int log_stride,        \
                                    int pes, long*) {                                                                 \
    shunt::pgas::openshmem::require_all_pes(start, log_stride, pes);                                                  \
    shunt::pgas::openshmem::broadcast(to, from, n*(BITS / 8), root, false);                                           \
  }                                                                                                                   \
  inline void shmem_collect##BITS(void* to, const void* from, size_t n, int start, int log_stride, int pes, long*) {  \
    shunt::pgas::openshmem::require_all_pes(start, log_stride, pes);                                                  \
    shunt::pgas::openshmem::collect(to, from, n*(BITS / 8));                                                          \
  }                                                                                                                   \
  inline void shmem_fcollect##BITS(void* to, const void* from, size_t n, int start, int log_stride, int pes,          \
                                   long* work) {                                                                      \
    shmem_collect##BITS(to, from, n, start, log_stride, pes, work);                                                   \
  }                                                                                                                   \
  inline void shmem_alltoall##BITS(void* to, const void* from, size_t n, int start, int log_stride, int pes, long*) { \
    shunt::pgas::openshmem::require_all_pes(start, log_stride, pes);                                                  \
    shunt::pgas::openshmem::all_to_all(to, from, n*(BITS / 8));                                                       \
  }
SHUNT_SHMEM_COLLECTION(32)
SHUNT_SHMEM_COLLECTION(64)
#undef SHUNT_SHMEM_COLLECTION

inline int shmem_broadcastmem(shmem_team_t, void* to, const void* from, size_t bytes, int root) {
  return shunt::pgas::openshmem::broadcast(to, from, bytes, root, true), 0;
}
inline int shmem_collectmem(shmem_team_t, void* to, const void* from, size_t bytes) {
  return shunt::pgas::openshmem::collect(to, from, bytes), 0;
}
inline int shmem_fcollectmem(shmem_team_t, void* to, const void* from, size_t bytes) {
  return shunt::pgas::openshmem::collect(to, from, bytes), 0;
}
inline int shmem_alltoallmem(shmem_team_t, void* to, const void* from, size_t bytes) {
  return shunt::pgas::openshmem::all_to_all(to, from, bytes), 0;
}
