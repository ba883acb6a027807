/// The problem of table `heat`, once, for every system: Gauss-Seidel sweeps over a field of rows x columns, whose rim
/// stays. A row may be computed for the t-th time when the row above it has been t times, and the row below it t - 1
/// times; whoever keeps to that gets the sequential result, to the last bit.
///
/// After each sample the sequential result is computed too, and timed: every cell is compared with it.
///
/// Source: Vostokin, Skoryupina: A performance analysis of simple runtime system for actor programming in C++. 2017,
/// arXiv:1702.05463.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <string>
#include <vector>

#include "../common/program.h"
#include "../common/random.h"

namespace bench {

class field {
 public:
  field(long rows, long columns, long steps)
      : rows_(rows), columns_(columns), steps_(steps), cells_(static_cast<std::size_t>(rows * columns)) {}

  [[nodiscard]] long rows() const { return rows_; }
  [[nodiscard]] long steps() const { return steps_; }

  void prepare() {
    for (std::size_t i = 0; i < cells_.size(); ++i) {
      cells_[i] = static_cast<double>(bench_random(BENCH_SEED, 0, i) >> 33);
    }
  }

  /// One row once, 0 < row < rows() - 1. Each cell waits for the one before it: some 16 cycles a cell, whatever the
  /// compiler does. Not inlined: all systems run the same instructions.
  [[gnu::noinline]] void compute(long row) {
    double* const here = &cells_[static_cast<std::size_t>(row * columns_)];
    for (long j = 1; j < columns_ - 1; ++j) {
      here[j] = (here[j - 1] + here[j + 1] + here[j - columns_] + here[j + columns_]) * 0.25;
    }
  }

  void compute_in_order() {
    for (long t = 1; t <= steps_; ++t) {
      for (long row = 1; row < rows_ - 1; ++row) compute(row);
    }
  }

  /// Compares with the sequential result. \return seconds that this one took.
  double check(const char* program) {
    const auto found = cells_;
    prepare();
    const double start = bench_now();
    compute_in_order();
    const double seconds = bench_now() - start;
    for (std::size_t i = 0; i < cells_.size(); ++i) {
      if (std::memcmp(&found[i], &cells_[i], sizeof(double)) == 0) continue;
      std::fprintf(stderr, "%s: wrong answer: cell %zu of row %zu is %.17g, expected %.17g\n", program,
                   i % static_cast<std::size_t>(columns_), i / static_cast<std::size_t>(columns_), found[i], cells_[i]);
      std::exit(1);
    }
    return seconds;
  }

 private:
  long rows_;
  long columns_;
  long steps_;
  std::vector<double> cells_;
};

/// \tparam System  has a static solve(field&, int workers).
template <typename System>
int heat(int argc, char** argv) try {
  const auto options = bench_parse(argc, argv);
  if (options.rows < 4) bench_bad_option(argv[0], "--rows", std::to_string(options.rows).c_str());
  if (options.columns < 3) bench_bad_option(argv[0], "--columns", std::to_string(options.columns).c_str());
  field plate(options.rows, options.columns, options.rounds);
  for (long round = 0; round < options.warmup + options.samples; ++round) {
    plate.prepare();
    const double start = bench_now();
    System::solve(plate, static_cast<int>(std::max(1L, options.pes)));
    const double seconds = bench_now() - start;
    const double serial_seconds = plate.check(argv[0]);
    if (round < options.warmup) continue;
    bench_report(seconds, (", \"serial_seconds\": " + std::to_string(serial_seconds)).c_str());
  }
  return 0;
} catch (const std::exception& bad) {
  std::fprintf(stderr, "%s: %s\n", argv[0], bad.what());
  return 1;
}

}  // namespace bench
