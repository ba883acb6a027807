/// What a one-sided program needs, from MPI: passive-target windows that are locked once. See one_sided_shmem.hpp,
/// which has the invariants.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <type_traits>

#include "mpi.hpp"

namespace bench {

struct mpi_net {
  /// Operations that a program starts before it completes them.
  static constexpr std::size_t batch = 1024;

  /// T: std::uint32_t or std::int64_t.
  template <class T>
  class array {
    static_assert(std::is_same_v<T, std::uint32_t> || std::is_same_v<T, std::int64_t>);

   public:
    /// Collective. \param count  items on each PE, the same number everywhere
    explicit array(std::size_t count) : window_(count + 1), count_(count) {}

    /// This PE's part.
    [[nodiscard]] std::span<T> mine() noexcept { return {window_.data, count_}; }

    void get(T* to, int pe, std::size_t at) { get(to, pe, at, 1); }
    void get(T* to, int pe, std::size_t at, std::size_t count) {
      const int n = static_cast<int>(count);
      MPI_Get(to, n, type(), pe, static_cast<MPI_Aint>(at), n, type(), window_.handle);
      begun();
    }
    void put(const T* from, int pe, std::size_t at, std::size_t count) {
      const int n = static_cast<int>(count);
      MPI_Put(from, n, type(), pe, static_cast<MPI_Aint>(at), n, type(), window_.handle);
      begun();
    }
    void put_value(T value, int pe, std::size_t at) { put(kept(value), pe, at, 1); }
    /// Atomic, as are the next two. With a fetch that is thrown away: faster than MPI_Accumulate with Open MPI.
    void add(T value, int pe, std::size_t at) { fetch_add(&thrown_away_[under_way_], value, pe, at); }
    void fetch_add(T* old, T value, int pe, std::size_t at) {
      MPI_Fetch_and_op(kept(value), old, type(), pe, static_cast<MPI_Aint>(at), MPI_SUM, window_.handle);
      begun();
    }
    void compare_swap(T* old, T expected, T value, int pe, std::size_t at) {
      expected_[under_way_] = expected;
      MPI_Compare_and_swap(kept(value), &expected_[under_way_], old, type(), pe, static_cast<MPI_Aint>(at),
                           window_.handle);
      begun();
    }

    /// What this PE has started is done.
    void complete() {
      MPI_Win_flush_all(window_.handle);
      under_way_ = 0;
    }
    void sync() { MPI_Win_sync(window_.handle); }

   private:
    static MPI_Datatype type() { return sizeof(T) == 4 ? MPI_UINT32_T : MPI_INT64_T; }
    const T* kept(T value) {
      values_[under_way_] = value;
      return &values_[under_way_];
    }
    void begun() {
      if (++under_way_ == batch) complete();
    }

    window_of<T> window_;
    std::size_t count_;
    std::size_t under_way_ = 0;  // below `batch`
    std::array<T, batch> values_{}, expected_{}, thrown_away_{};
  };

  /// Collective. What all PEs have started is done, and each sees it.
  template <class... Arrays>
  static void settle(Arrays&... arrays) {
    (arrays.complete(), ...);
    (arrays.sync(), ...);
    MPI_Barrier(MPI_COMM_WORLD);
    (arrays.sync(), ...);
  }
  static std::uint64_t sum(std::uint64_t value) { return mpi_sum(value); }
  static double max(double value) { return mpi_max(value); }
  static int me() {
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return rank;
  }
  static int pes() {
    int ranks = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    return ranks;
  }
};

}  // namespace bench
