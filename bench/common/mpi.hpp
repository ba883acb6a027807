/// What the MPI programs share. Every function is collective over MPI_COMM_WORLD.
#pragma once

#define OMPI_SKIP_MPICXX 1  // the C interface only: the C++ one is deprecated and full of warnings
#include <mpi.h>

#include <cstdint>
#include <cstdio>

#include "program.h"

namespace bench {

/// MPI_Init, and the check that the launcher started as many ranks as the program was told: it would
/// report one machine's time under another's name.
inline void mpi_start(int* argc, char*** argv, const bench_options& options) {
  MPI_Init(argc, argv);
  int ranks = 0, me = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  if (options.pes != 0 && options.pes != ranks) {
    if (me == 0) {
      std::fprintf(stderr, "%s: --pes %ld, but the launcher started %d\n", (*argv)[0], options.pes, ranks);
    }
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
}

/// Modulo 2^64.
inline std::uint64_t mpi_sum(std::uint64_t value) {
  std::uint64_t sum = 0;
  MPI_Allreduce(&value, &sum, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
  return sum;
}

inline double mpi_max(double value) {
  double max = 0;
  MPI_Allreduce(&value, &max, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return max;
}

inline void mpi_require(const char* program, const char* what, std::uint64_t got, std::uint64_t expected) {
  if (got == expected) return;
  int me = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  if (me == 0) {
    std::fprintf(stderr, "%s: wrong answer: %s is %llu, expected %llu\n", program, what,
                 static_cast<unsigned long long>(got), static_cast<unsigned long long>(expected));
  }
  MPI_Abort(MPI_COMM_WORLD, 1);
}

/// A window of `count` integers a rank, locked for all, with the hints that let an MPI choose its cheapest way: one
/// operation only, and no order between accumulates.
template <class T>
struct window_of {
  T* data = nullptr;
  MPI_Win handle = MPI_WIN_NULL;

  explicit window_of(std::size_t count) {
    MPI_Info hints = MPI_INFO_NULL;
    MPI_Info_create(&hints);
    MPI_Info_set(hints, "accumulate_ops", "same_op");
    MPI_Info_set(hints, "accumulate_ordering", "none");
    MPI_Info_set(hints, "same_size", "true");
    MPI_Info_set(hints, "same_disp_unit", "true");
    MPI_Info_set(hints, "acc_single_intrinsic", "true");  // Open MPI's: single elements only
    MPI_Win_allocate(static_cast<MPI_Aint>(count * sizeof(T)), sizeof(T), hints, MPI_COMM_WORLD, &data, &handle);
    MPI_Info_free(&hints);
    MPI_Win_lock_all(MPI_MODE_NOCHECK, handle);
  }
  window_of(const window_of&) = delete;
  window_of& operator=(const window_of&) = delete;
  ~window_of() {
    MPI_Win_unlock_all(handle);
    MPI_Win_free(&handle);
  }

  /// Makes this rank's plain loads and stores and the others' operations see each other.
  void settle() const {
    MPI_Win_sync(handle);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_sync(handle);
  }
};

using window = window_of<std::int64_t>;

}  // namespace bench
