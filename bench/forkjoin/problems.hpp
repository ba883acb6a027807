/// The problems of table `forkjoin`, once, for every system.
///
/// A system is a type with
///   static void inside(int workers, const std::function<void()>& body)   calls body where forks
///   are legal static std::pair<long, long> both(F&& f, G&& g)                      f() and g(),
///   perhaps at once static void loop(long count, Body&& body)                            body(i),
///   0 <= i < count, grain 1
///
/// A sample is the least of three rounds (fewer once they took 2 s), each serial and then forked,
/// so that both meet the same machine:
///   "seconds" and "serial_seconds", of one fib, one n-queens, or one loop.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "../common/program.h"

namespace bench {

[[gnu::noinline]] inline long serial_fib(int n) { return n < 2 ? n : serial_fib(n - 1) + serial_fib(n - 2); }

template <typename System>
long forked_fib(int n) {
  if (n < 2) return n;
  const auto [a, b] =
      System::both([n] { return forked_fib<System>(n - 1); }, [n] { return forked_fib<System>(n - 2); });
  return a + b;
}

/// Queens in the rows above, as the columns and diagonals that they reach in this row.
struct board {
  std::uint32_t all;  ///< one bit a column
  std::uint32_t columns = 0;
  std::uint32_t left = 0;
  std::uint32_t right = 0;

  [[nodiscard]] std::uint32_t free() const { return all & ~(columns | left | right); }
  [[nodiscard]] board with(std::uint32_t bit) const {
    return {all, columns | bit, (left | bit) << 1, (right | bit) >> 1};
  }
};

[[gnu::noinline]] inline long serial_queens(board b) {
  if (b.columns == b.all) return 1;
  long found = 0;
  for (auto free = b.free(); free != 0; free &= free - 1) {
    found += serial_queens(b.with(free & (~free + 1)));
  }
  return found;
}

/// Forks in the first rows only; `free` are the columns of this row that are still to be tried.
template <typename System>
long forked_queens(board b, std::uint32_t free, int rows_to_fork) {
  if (b.columns == b.all) return 1;
  if (rows_to_fork == 0) return serial_queens(b);
  if (free == 0) return 0;
  const auto first = free & (~free + 1);
  const auto next = b.with(first);
  if (free == first) return forked_queens<System>(next, next.free(), rows_to_fork - 1);
  const auto [with_first, others] =
      System::both([=] { return forked_queens<System>(next, next.free(), rows_to_fork - 1); },
                   [=] { return forked_queens<System>(b, free & (free - 1), rows_to_fork); });
  return with_first + others;
}

/// Known numbers: the sequences A000045 and A000170 of the OEIS.
inline long expected_fib(int n) {
  long a = 0;
  long b = 1;
  for (; n > 0; --n) b = std::exchange(a, b) + b;
  return a;
}
inline long expected_queens(int n) {
  static constexpr long known[] = {1, 1, 0, 0, 2, 10, 4, 40, 92, 352, 724, 2680, 14200, 73712, 365596, 2279184};
  return known[n];
}

struct times {
  double serial = std::numeric_limits<double>::infinity();
  double forked = std::numeric_limits<double>::infinity();
};

template <typename Serial, typename Forked>
times least_of_three(Serial&& serial, Forked&& forked) {
  times least;
  double spent = 0;
  for (int round = 0; round < 3 && spent < 2; ++round) {  // what takes seconds varies less
    const double start = bench_now();
    serial();
    const double middle = bench_now();
    forked();
    least.serial = std::min(least.serial, middle - start);
    const double end = bench_now();
    least.forked = std::min(least.forked, end - middle);
    spent += end - start;
  }
  return least;
}

template <typename System>
times measure(const char* program, const bench_options& o) {
  const int n = static_cast<int>(o.scale);
  const auto check = [&](long got, long expected) {
    if (got != expected) {
      bench_wrong(program, o.what, static_cast<unsigned long long>(got), static_cast<unsigned long long>(expected));
    }
  };
  if (std::strcmp(o.what, "fib") == 0) {
    return least_of_three([&] { check(serial_fib(n), expected_fib(n)); },
                          [&] { check(forked_fib<System>(n), expected_fib(n)); });
  }
  if (std::strcmp(o.what, "nqueens") == 0) {
    const board empty{(1U << n) - 1};
    return least_of_three([&] { check(serial_queens(empty), expected_queens(n)); },
                          [&] { check(forked_queens<System>(empty, empty.free(), 4), expected_queens(n)); });
  }
  // The bodies that are timed do nothing; once, before, each leaves a mark.
  std::vector<std::uint8_t> marks(static_cast<std::size_t>(o.updates));
  System::loop(o.updates, [&](long i) { ++marks[static_cast<std::size_t>(i)]; });
  check(std::count(marks.begin(), marks.end(), 1), o.updates);
  const auto nothing = [](long i) { asm volatile("" : : "r"(i)); };
  return least_of_three(
      [&] {
        for (long i = 0; i < o.updates; ++i) nothing(i);
      },
      [&] { System::loop(o.updates, nothing); });
}

template <typename System>
int forkjoin(int argc, char** argv) try {
  const auto options = bench_parse(argc, argv);
  const auto is = [&](const char* name) { return std::strcmp(options.what, name) == 0; };
  if (!is("fib") && !is("nqueens") && !is("parallel_for")) {
    bench_bad_option(argv[0], "--what", options.what);
  }
  if (is("nqueens") && (options.scale < 1 || options.scale > 15)) {
    bench_bad_option(argv[0], "--scale", std::to_string(options.scale).c_str());
  }
  System::inside(static_cast<int>(std::max(1L, options.pes)), [&] {
    for (long round = 0; round < options.warmup + options.samples; ++round) {
      const auto least = measure<System>(argv[0], options);
      if (round < options.warmup) continue;
      char serial[64];
      std::snprintf(serial, sizeof serial, ", \"serial_seconds\": %.9f", least.serial);
      bench_report(least.forked, serial);
    }
  });
  return 0;
} catch (const std::exception& problem) {
  std::fprintf(stderr, "%s: %s\n", argv[0], problem.what());
  return 1;
}

}  // namespace bench
