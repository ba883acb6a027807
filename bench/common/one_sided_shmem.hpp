/// What a one-sided program needs, from OpenSHMEM: symmetric arrays that each PE reads and writes in the others'
/// memory. The same program runs on MPI's windows: one_sided_mpi.hpp.
///
/// Invariants
///   O1  What an operation reads, or writes on the calling PE, stays as it is until complete() or settle().
///   O2  Between two calls of settle() a spot is written by one PE, or by atomic operations only.
#pragma once

#include <cstdint>
#include <span>
#include <type_traits>

#include "shmem.h"

namespace bench {

/// `Nonblocking`: gets and puts are the `_nbi` calls, which complete() waits for. OpenSHMEM 1.4 has no `_nbi` atomics:
/// those that fetch wait in both ways, and those that do not fetch wait in neither.
template <bool Nonblocking>
struct shmem_net {
  /// Operations that a program starts before it completes them.
  static constexpr std::size_t batch = 1024;

  /// T: std::uint32_t or std::int64_t.
  template <class T>
  class array {
    static_assert(std::is_same_v<T, std::uint32_t> || std::is_same_v<T, std::int64_t>);
    static constexpr bool narrow = sizeof(T) == 4;

   public:
    /// Collective. \param count  items on each PE, the same number everywhere
    explicit array(std::size_t count)
        : data_(static_cast<T*>(bench_shmem_allocate("shmem", (count + 1) * sizeof(T)))), count_(count) {}
    ~array() { shmem_free(data_); }
    array(const array&) = delete;
    array& operator=(const array&) = delete;

    /// This PE's part.
    [[nodiscard]] std::span<T> mine() noexcept { return {data_, count_}; }

    void get(T* to, int pe, std::size_t at) {
      if constexpr (Nonblocking) {
        get(to, pe, at, 1);
      } else if constexpr (narrow) {
        *to = shmem_uint32_g(data_ + at, pe);
      } else {
        *to = shmem_int64_g(data_ + at, pe);
      }
    }
    void get(T* to, int pe, std::size_t at, std::size_t count) {
      if (count == 0) return;
      if constexpr (narrow) {
        Nonblocking ? shmem_get32_nbi(to, data_ + at, count, pe) : shmem_get32(to, data_ + at, count, pe);
      } else {
        Nonblocking ? shmem_get64_nbi(to, data_ + at, count, pe) : shmem_get64(to, data_ + at, count, pe);
      }
    }
    void put(const T* from, int pe, std::size_t at, std::size_t count) {
      if (count == 0) return;
      if constexpr (narrow) {
        Nonblocking ? shmem_put32_nbi(data_ + at, from, count, pe) : shmem_put32(data_ + at, from, count, pe);
      } else {
        Nonblocking ? shmem_put64_nbi(data_ + at, from, count, pe) : shmem_put64(data_ + at, from, count, pe);
      }
    }
    /// Returns once the value has left, in both ways: there is nothing that a program could wait for.
    void put_value(T value, int pe, std::size_t at) {
      if constexpr (narrow) {
        shmem_uint32_p(data_ + at, value, pe);
      } else {
        shmem_int64_p(data_ + at, value, pe);
      }
    }
    /// Atomic. Of 64-bit arrays, as are the next two.
    void add(T value, int pe, std::size_t at) { shmem_long_atomic_add(data_ + at, value, pe); }
    void fetch_add(T* old, T value, int pe, std::size_t at) {
      *old = shmem_long_atomic_fetch_add(data_ + at, value, pe);
    }
    void compare_swap(T* old, T expected, T value, int pe, std::size_t at) {
      *old = shmem_long_atomic_compare_swap(data_ + at, expected, value, pe);
    }

    /// What this PE has started is done.
    void complete() {
      if constexpr (Nonblocking) shmem_quiet();
    }

   private:
    T* data_;
    std::size_t count_;
  };

  /// Collective. What all PEs have started is done, and each sees it.
  template <class... Arrays>
  static void settle(Arrays&...) {
    shmem_barrier_all();
  }
  static std::uint64_t sum(std::uint64_t value) { return bench_shmem_sum(value); }
  static double max(double value) { return bench_shmem_max(value); }
  static int me() { return shmem_my_pe(); }
  static int pes() { return shmem_n_pes(); }
};

}  // namespace bench
