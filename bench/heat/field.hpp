/// The problem of table `heat`, once, for every system: Gauss-Seidel sweeps over a field of rows x columns, whose rim
/// stays. With a depth it has three dimensions, and a row is a plane of columns x depth. A row may be computed for the
/// t-th time when the row above it has been t times, and the row below it t - 1 times; a program that keeps to that
/// gets the sequential result, to the last bit.
///
/// After each sample every cell is compared with the sequential result. It is computed then, unless `--oracle FILE`
/// names a file that has it; a file that is not there is written: so the first program of a table's run computes it for
/// all.
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
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "../common/program.h"
#include "../common/random.h"

namespace bench {

class field {
 public:
  /// \param depth  1: the field has two dimensions
  field(long rows, long columns, long depth, long steps)
      : rows_(rows),
        columns_(columns),
        depth_(depth),
        steps_(steps),
        cells_(static_cast<std::size_t>(rows * columns * depth)) {}

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
    if (depth_ > 1) return compute_plane(row);
    double* const here = &cells_[static_cast<std::size_t>(row * columns_)];
    for (long j = 1; j < columns_ - 1; ++j) {
      here[j] = (here[j - 1] + here[j + 1] + here[j - columns_] + here[j + columns_]) * 0.25;
    }
  }

  [[gnu::noinline]] void compute_plane(long row) {
    const long plane = columns_ * depth_;
    for (long j = 1; j < columns_ - 1; ++j) {
      double* const here = &cells_[static_cast<std::size_t>(row * plane + j * depth_)];
      for (long k = 1; k < depth_ - 1; ++k) {
        here[k] =
            (here[k - 1] + here[k + 1] + here[k - depth_] + here[k + depth_] + here[k - plane] + here[k + plane]) *
            (1. / 6);
      }
    }
  }

  void compute_in_order() {
    for (long t = 1; t <= steps_; ++t) {
      for (long row = 1; row < rows_ - 1; ++row) compute(row);
    }
  }

  /// Compares with the sequential result. \param file  of that; "": none.
  void check(const char* program, const std::string& file) {
    const auto found = cells_;
    if (file.empty() || !read(file)) {
      prepare();
      compute_in_order();
      if (!file.empty()) write(file);
    }
    for (std::size_t i = 0; i < cells_.size(); ++i) {
      if (std::memcmp(&found[i], &cells_[i], sizeof(double)) == 0) continue;
      std::fprintf(stderr, "%s: wrong answer: cell %zu of row %zu is %.17g, expected %.17g\n", program,
                   i % static_cast<std::size_t>(columns_ * depth_), i / static_cast<std::size_t>(columns_ * depth_),
                   found[i], cells_[i]);
      std::exit(1);
    }
  }

 private:
  /// \return false: there is no such file.
  bool read(const std::string& file) {
    std::ifstream in(file, std::ios::binary);
    if (!in.is_open()) return false;
    in.read(reinterpret_cast<char*>(cells_.data()), bytes());
    if (in.gcount() != bytes()) throw std::runtime_error(file + " is too short");
    return true;
  }
  /// Complete, or not at all.
  void write(const std::string& file) const {
    const std::string part = file + ".part";
    std::ofstream out(part, std::ios::binary);
    out.write(reinterpret_cast<const char*>(cells_.data()), bytes());
    out.close();
    if (out.fail() || std::rename(part.c_str(), file.c_str()) != 0) throw std::runtime_error("cannot write " + file);
  }
  [[nodiscard]] std::streamsize bytes() const { return static_cast<std::streamsize>(cells_.size() * sizeof(double)); }

  long rows_;
  long columns_;
  long depth_;
  long steps_;
  std::vector<double> cells_;
};

/// \tparam System  has a static solve(field&, int workers).
template <typename System>
int heat(int argc, char** argv) try {
  const auto options = bench_parse(argc, argv);
  if (options.rows < 4) bench_bad_option(argv[0], "--rows", std::to_string(options.rows).c_str());
  if (options.columns < 3) bench_bad_option(argv[0], "--columns", std::to_string(options.columns).c_str());
  field plate(options.rows, options.columns, std::max(1L, options.depth), options.rounds);
  for (long round = 0; round < options.warmup + options.samples; ++round) {
    plate.prepare();
    const double start = bench_now();
    System::solve(plate, static_cast<int>(std::max(1L, options.pes)));
    const double seconds = bench_now() - start;
    plate.check(argv[0], options.oracle);
    if (round >= options.warmup) bench_report(seconds, "");
  }
  return 0;
} catch (const std::exception& bad) {
  std::fprintf(stderr, "%s: %s\n", argv[0], bad.what());
  return 1;
}

}  // namespace bench
