/// The problem of table `dft`, once, for every system: the discrete Fourier transform of an n x n
/// array of complex numbers, n = 2^scale, by rows, a transposition, and rows again (the spectrum
/// comes out transposed). Each of the three is a loop whose bodies share nothing.
///
/// The array is the sum of a few plane waves, so its spectrum is known: a peak for each, and
/// nothing anywhere else. Every bin is checked.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <numbers>
#include <string>
#include <utility>
#include <vector>

#include "../common/loops.hpp"
#include "../common/random.h"

namespace bench {

/// Without std::complex's care for infinities, which costs a branch a product.
struct complex {
  double re = 0;
  double im = 0;

  friend complex operator+(complex a, complex b) { return {a.re + b.re, a.im + b.im}; }
  friend complex operator-(complex a, complex b) { return {a.re - b.re, a.im - b.im}; }
  friend complex operator*(complex a, complex b) { return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re}; }
};
inline complex times_i(complex a) { return {-a.im, a.re}; }

/// Transforms of one length, a power of two. Stockham's method, in passes of four and at most one
/// of two, sorts as it goes. Source: Swarztrauber: FFT algorithms for vector computers. Parallel
/// Computing 1(1), 1984, doi:10.1016/S0167-8191(84)90413-7.
class transform {
 public:
  explicit transform(int scale) : length_(std::size_t{1} << scale), roots_(length_) {
    for (std::size_t k = 0; k < length_; ++k) {
      const double angle = -2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(length_);
      roots_[k] = {std::cos(angle), std::sin(angle)};
    }
    for (std::size_t left = length_; left > 1; left /= left > 2 ? 4 : 2) odd_ = !odd_;
  }

  [[nodiscard]] std::size_t length() const { return length_; }
  /// exp(-2 pi i k / length), 0 <= k < length.
  [[nodiscard]] complex root(std::size_t k) const { return roots_[k]; }
  /// Where apply() leaves its result: in `other` if true, in `row` else.
  [[nodiscard]] bool ends_in_other() const { return odd_; }

  /// Of `row`; both have length() numbers, and both are overwritten.
  void apply(complex* row, complex* other) const {
    std::size_t stride = 1;
    std::size_t left = length_;
    for (; left > 2; left /= 4, stride *= 4) {
      pass_of_four(left, stride, row, other);
      std::swap(row, other);
    }
    if (left == 2) {
      for (std::size_t q = 0; q < stride; ++q) {
        const complex a = row[q];
        const complex b = row[q + stride];
        other[q] = a + b;
        other[q + stride] = a - b;
      }
    }
  }

 private:
  void pass_of_four(std::size_t left, std::size_t stride, const complex* __restrict from,
                    complex* __restrict to) const {
    const std::size_t quarter = left / 4;
    for (std::size_t p = 0; p < quarter; ++p) {
      const complex w1 = roots_[p * stride];
      const complex w2 = roots_[2 * p * stride];
      const complex w3 = roots_[3 * p * stride];
      const complex* const a = from + stride * p;
      complex* const b = to + stride * 4 * p;
      for (std::size_t q = 0; q < stride; ++q) {
        const complex even_sum = a[q] + a[q + 2 * quarter * stride];
        const complex even_difference = a[q] - a[q + 2 * quarter * stride];
        const complex odd_sum = a[q + quarter * stride] + a[q + 3 * quarter * stride];
        const complex odd_difference = times_i(a[q + quarter * stride] - a[q + 3 * quarter * stride]);
        b[q] = even_sum + odd_sum;
        b[q + stride] = w1 * (even_difference - odd_difference);
        b[q + 2 * stride] = w2 * (even_sum - odd_sum);
        b[q + 3 * stride] = w3 * (even_difference + odd_difference);
      }
    }
  }

  std::size_t length_;
  std::vector<complex> roots_;
  bool odd_ = false;
};

class plane_waves {
 public:
  explicit plane_waves(int scale) : rows_(scale), n_(rows_.length()), one_(n_ * n_), other_(n_ * n_) {
    for (std::size_t i = 0; i < waves_.size(); ++i) {
      const auto number = [&](std::uint64_t k) { return bench_random(BENCH_SEED, i, k); };
      waves_[i] = {number(0) % n_, number(1) % n_, {1.0 + static_cast<double>(i), -0.5}};
    }
  }

  /// The waves, at every place.
  void prepare() {
    from_ = one_.data();
    to_ = other_.data();
    for (std::size_t r = 0; r < n_; ++r) {
      complex* const row = from_ + r * n_;
      std::fill_n(row, n_, complex{});
      for (const auto& w : waves_) {
        const complex here = w.height * wave(w.down * r);
        for (std::size_t c = 0; c < n_; ++c) row[c] = row[c] + here * wave(w.across * c);
      }
    }
  }

  void run(const loop& each) {
    transform_rows(each);
    transpose(each);
    transform_rows(each);
  }

  void check(const char* program) {
    const double places = static_cast<double>(n_) * static_cast<double>(n_);
    const auto bin = [&](const wave_of& w) -> complex& { return from_[w.across * n_ + w.down]; };
    for (const auto& w : waves_) bin(w) = bin(w) - complex{w.height.re * places, w.height.im * places};
    const double error = 1e-13 * places;  // some 50 times what rounding leaves
    for (std::size_t i = 0; i < n_ * n_; ++i) {
      // Not "is larger": what is not a number is wrong too.
      if (!(std::abs(from_[i].re) < error && std::abs(from_[i].im) < error)) {
        std::fprintf(stderr, "%s: wrong answer: bin %zu is off by %g and %g i\n", program, i, from_[i].re, from_[i].im);
        std::exit(1);
      }
    }
  }

 private:
  struct wave_of {
    std::size_t down = 0;
    std::size_t across = 0;
    complex height{};
  };
  static constexpr std::size_t side = 32;  // of what is transposed at a time: 2 x 16 KiB

  /// exp(2 pi i k / n).
  [[nodiscard]] complex wave(std::size_t k) const {
    const complex r = rows_.root(k & (n_ - 1));
    return {r.re, -r.im};
  }

  void transform_rows(const loop& each) {
    each(static_cast<long>(n_), [&](long r) {
      const auto at = static_cast<std::size_t>(r) * n_;
      rows_.apply(from_ + at, to_ + at);
    });
    if (rows_.ends_in_other()) std::swap(from_, to_);
  }

  void transpose(const loop& each) {
    const std::size_t block = std::min(side, n_);
    each(static_cast<long>(n_ / block), [&](long which) {
      const auto top = static_cast<std::size_t>(which) * block;
      for (std::size_t edge = 0; edge < n_; edge += block) {
        for (std::size_t r = top; r < top + block; ++r) {
          for (std::size_t c = edge; c < edge + block; ++c) to_[c * n_ + r] = from_[r * n_ + c];
        }
      }
    });
    std::swap(from_, to_);
  }

  const transform rows_;
  const std::size_t n_;
  std::array<wave_of, 8> waves_;
  std::vector<complex> one_;
  std::vector<complex> other_;
  complex* from_ = nullptr;  // where the numbers are
  complex* to_ = nullptr;
};

template <typename System>
int dft(int argc, char** argv) try {
  const auto options = bench_parse(argc, argv);
  if (options.scale < 0 || options.scale > 14) {
    bench_bad_option(argv[0], "--scale", std::to_string(options.scale).c_str());
  }
  plane_waves problem(static_cast<int>(options.scale));
  return rounds<System>(argv[0], options, problem);
} catch (const std::exception& bad) {
  std::fprintf(stderr, "%s: %s\n", argv[0], bad.what());
  return 1;
}

}  // namespace bench
