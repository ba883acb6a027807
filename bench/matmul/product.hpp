/// The problem of table `matmul`, once, for every system: C = A B, of doubles by rows.
///
/// Entries are small whole numbers, so every sum is exact, in whatever order it is added up; and so
/// is the check: C x = A (B x) for a random x (Freivalds, 1977), where a wrong entry of C is missed
/// with a probability of 1 in 1024.
///
/// `--what tiles`: C is cut into tiles, and each is one call of a BLAS on one thread. `--what
/// loops`: four rows of C at a time, by plain loops.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#ifdef BENCH_OPENBLAS
#include <cblas.h>
#endif

#include "../common/loops.hpp"
#include "../common/random.h"

namespace bench {

class product {
 public:
  /// A is rows x inner, B is inner x rows.
  product(long rows, long inner) : rows_(rows), inner_(inner) {
    const auto r = static_cast<std::size_t>(rows);
    const auto k = static_cast<std::size_t>(inner);
    const auto numbers = [](std::size_t count, std::uint64_t stream, std::uint64_t bound) {
      std::vector<double> made(count);
      for (std::size_t i = 0; i < count; ++i) {
        made[i] = static_cast<double>(bench_below(bench_random(BENCH_SEED, stream, i), bound));
      }
      return made;
    };
    a_ = numbers(r * k, 1, 17);
    b_ = numbers(k * r, 2, 17);
    for (auto* const matrix : {&a_, &b_}) {
      for (auto& entry : *matrix) entry -= 8;
    }
    x_ = numbers(r, 3, 1024);
    // The largest sum: rows * inner * 8 * 8 * 1023.
    if (static_cast<double>(rows) * static_cast<double>(inner) * 65'472 > 0x1p53) {
      throw std::invalid_argument("matrices too large to be checked exactly");
    }
    right_ = times(a_, times(b_, x_, inner, rows), rows, inner);
    c_.resize(r * r);
  }

  /// Whatever was there is wrong now.
  void prepare() { std::fill(c_.begin(), c_.end(), std::nan("")); }

  void check(const char* program) const {
    const auto found = times(c_, x_, rows_, rows_);
    for (std::size_t i = 0; i < found.size(); ++i) {
      if (found[i] != right_[i]) {
        bench_wrong(program, ("row " + std::to_string(i) + " times x").c_str(),
                    static_cast<unsigned long long>(found[i]), static_cast<unsigned long long>(right_[i]));
      }
    }
  }

#ifdef BENCH_OPENBLAS
  /// Rows [i, i + m) and columns [j, j + n) of C, on as many threads as the BLAS was told.
  void part(long i, long j, long m, long n) {
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, small(m), small(n), small(inner_), 1, &a_[at(i, inner_, 0)],
                small(inner_), &b_[at(0, rows_, j)], small(rows_), 0, &c_[at(i, rows_, j)], small(rows_));
  }
#endif

  /// Rows [i, i + m) of C. The innermost loop runs along rows of B and C, which compilers like.
  void band(long i, long m) {
    std::fill_n(&c_[at(i, rows_, 0)], m * rows_, 0.0);
    for (long k = 0; k < inner_; ++k) {
      const double* const __restrict from = &b_[at(k, rows_, 0)];
      for (long row = i; row < i + m; ++row) {
        const double factor = a_[at(row, inner_, k)];
        double* const __restrict to = &c_[at(row, rows_, 0)];
        for (long j = 0; j < rows_; ++j) to[j] += factor * from[j];
      }
    }
  }

  [[nodiscard]] long rows() const { return rows_; }

 private:
  static std::size_t at(long row, long columns, long column) {
    return static_cast<std::size_t>(row * columns + column);
  }
  static int small(long value) { return static_cast<int>(value); }
  static std::vector<double> times(const std::vector<double>& matrix, const std::vector<double>& x, long rows,
                                   long columns) {
    std::vector<double> result(static_cast<std::size_t>(rows));
    for (long i = 0; i < rows; ++i) {
      double sum = 0;
      for (long j = 0; j < columns; ++j) {
        sum += matrix[at(i, columns, j)] * x[static_cast<std::size_t>(j)];
      }
      result[static_cast<std::size_t>(i)] = sum;
    }
    return result;
  }

  const long rows_;
  const long inner_;
  std::vector<double> a_;
  std::vector<double> b_;
  std::vector<double> c_;
  std::vector<double> x_;
  std::vector<double> right_;
};

/// The product in tiles, or by loops, as one loop.
struct product_in_parts : product {
  product_in_parts(const bench_options& o, bool tiles)
      : product(o.rows, o.columns), tiles_(tiles ? cut(o.rows, std::max(1L, o.pes), o.buffer) : std::vector<tile>()) {}

  void run(const loop& each) {
    if (tiles_.empty()) {
      constexpr long height = 4;  // rows of C that a row of B is used for
      each((rows() + height - 1) / height, [&](long i) { band(i * height, std::min(height, rows() - i * height)); });
      return;
    }
#ifdef BENCH_OPENBLAS
    each(static_cast<long>(tiles_.size()), [&](long index) {
      const tile& t = tiles_[static_cast<std::size_t>(index)];
      part(t.i, t.j, t.m, t.n);
    });
#endif
  }

 private:
  struct tile {
    long i, j, m, n;  // rows [i, i + m), columns [j, j + n)
  };

  /// The larger tiles are, the less often the BLAS copies the same parts of A and B; but the last
  /// ones should be small, to come out even. So half of the columns are a tile for each worker, half
  /// of what is left again, and so on (factoring: Hummel, Schonberg and Flynn, 1992); and the rest is
  /// squares, as many as there are eight a worker of, or a few more, in the whole.
  /// \param side  if not 0: squares of so many rows, all of them.
  static std::vector<tile> cut(long rows, long workers, long side) {
    std::vector<tile> all;
    long from = 0;  // columns before it are in tiles
    const auto add = [&](long height, long width) {
      for (long i = 0; i < rows; i += height) all.push_back({i, from, std::min(height, rows - i), width});
      from += width;
    };
    if (side == 0) {
      const auto across = static_cast<long>(std::ceil(std::sqrt(8.0 * static_cast<double>(workers))));
      side = (rows + across - 1) / across;
      const long height = (rows + workers - 1) / workers;
      for (long width = rows / 2; height * width > side * side; width = (rows - from) / 2) add(height, width);
    }
    while (from < rows) add(side, std::min(side, rows - from));
    return all;
  }
  const std::vector<tile> tiles_;
};

/// A program of a system that has loops.
template <typename System>
int matmul(int argc, char** argv) try {
  const auto options = bench_parse(argc, argv);
  const bool tiles = std::strcmp(options.what, "tiles") == 0;
  if (!tiles && std::strcmp(options.what, "loops") != 0) {
    bench_bad_option(argv[0], "--what", options.what);
  }
#ifdef BENCH_OPENBLAS
  openblas_set_num_threads(1);
#else
  if (tiles) bench_absent(argv[0], "no OpenBLAS (Debian: libopenblas-dev)");
#endif
  product_in_parts problem(options, tiles);
  return rounds<System>(argv[0], options, problem);
} catch (const std::exception& bad) {
  std::fprintf(stderr, "%s: %s\n", argv[0], bad.what());
  return 1;
}

}  // namespace bench
