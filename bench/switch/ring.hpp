/// The round robin of the switch table, for every system the same: whose turn it is, and for how
/// long.
///
///   --order fifo     by yielding, in the order of their creation, in which all are woken once
///   --order random   by yielding, in the order of a random permutation, the same in every run, in
///                    which all are woken once: the run queue is shuffled blocks and stacks
///   --order chain    in that order, but each wakes the next and parks: one is ready at a time
///
///        start      sizes              warm-up    samples            closing
///   lap 1 ..... | 1 | 2 | 4 ... ............... | ......... | .... | ....... one lap more
///   all begin     laps double until a phase     laps so that a     each learns that it is the
///   to exist      lasts long enough to time     phase takes        end, and leaves
///                                               --milliseconds
///
/// Invariants
///   R1  now_ is whose turn it is: a position of the order. A fiber that takes a turn finds its own there, and leaves
///       its successor's. One that is run out of order, twice or too seldom finds another, which is a wrong answer. So
///       laps of n turns are whole, and the fiber at position 0 counts them and reads the clock.
///   R2  A turn waits for no other's arithmetic: what it stores it had before, and what it loads is only compared.
///       (Turns that were counted in one word took as long as that word's way through the processor, whatever was
///       switched.)
///
/// One thread at a time; a thread that hands a turn over to another makes what it wrote visible.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "../common/one_cpu.hpp"
#include "../common/program.h"
#include "../common/random.h"

namespace bench {

/// Whose turn it is, and whose after that: positions. One word, as one is what a fiber has to keep.
class turn {
 public:
  turn() = default;
  turn(std::uint32_t mine, std::uint32_t next) : both_(mine | std::uint64_t{next} << 32) {}
  [[nodiscard]] std::uint32_t mine() const noexcept { return static_cast<std::uint32_t>(both_); }
  [[nodiscard]] std::uint32_t next() const noexcept { return static_cast<std::uint32_t>(both_ >> 32); }

 private:
  std::uint64_t both_ = 0;
};

class ring {
 public:
  ring(const char* program, const bench_options& options)
      : program_(program),
        n_(static_cast<std::uint64_t>(options.fibers)),
        seconds_(1e-3 * static_cast<double>(options.milliseconds)),
        chain_(std::strcmp(options.order, "chain") == 0),
        phases_left_(options.warmup + options.samples),
        samples_(options.samples),
        order_(n_),
        position_(n_) {
    const bool in_order = std::strcmp(options.order, "fifo") == 0;
    if (!chain_ && !in_order && std::strcmp(options.order, "random") != 0) {
      bench_bad_option(program, "--order", options.order);
    }
    if (options.fibers < 2) bench_bad_option(program, "--fibers", "(at least 2)");
    stay_on_one_cpu();
    std::iota(order_.begin(), order_.end(), 0U);
    if (!in_order) {
      for (std::uint64_t i = n_ - 1; i > 0; --i) {
        std::swap(order_[i], order_[bench_below(bench_random(BENCH_SEED, 0, i), i + 1)]);
      }
    }
    for (std::uint32_t p = 0; p < n_; ++p) position_[order_[p]] = p;
  }

  /// Whether they wake each other; else they yield.
  [[nodiscard]] bool chain() const noexcept { return chain_; }
  [[nodiscard]] std::size_t size() const noexcept { return n_; }

  /// The fiber that takes turn `position`, 0..size()-1.
  [[nodiscard]] std::size_t at(std::size_t position) const noexcept { return order_[position]; }
  [[nodiscard]] std::size_t first() const noexcept { return at(0); }

  /// The fiber whose turn follows that of `fiber`.
  [[nodiscard]] std::size_t next(std::size_t fiber) const noexcept {
    const std::size_t p = position_[fiber] + std::size_t{1};
    return order_[p == n_ ? 0 : p];
  }

  /// The turns of `fiber`, which it keeps, for the functions below.
  [[nodiscard]] turn turn_of(std::size_t fiber) const noexcept {
    const std::uint32_t p = position_[fiber];
    return {p, p + 1 == n_ ? 0 : p + 1};
  }

  [[nodiscard]] bool has_come(turn t) const noexcept { return (now_ & ~leaving) == t.mine(); }

  /// Takes the fiber's turn. \return false: the end; leave.
  [[gnu::always_inline]] bool take(turn t) {
    if (now_ != t.mine()) [[unlikely]]
      return leave(t);
    if (t.mine() == 0 && --laps_left_ == 0) [[unlikely]] {
      if (!go_on()) return leave(t);
    }
    now_ = t.next();
    return true;
  }

  /// Whether take() has told all of them to leave: the last one hands on to none.
  [[nodiscard]] bool all_left() const noexcept { return left_ == n_; }

  /// When all should have left. \return the program's exit status.
  [[nodiscard]] int finish() const {
    if (left_ != n_) bench_wrong(program_, "fibers that left", left_, n_);
    return 0;
  }

 private:
  static constexpr double long_enough_to_time = 0.02;  // seconds

  enum class stage { start, sizes, phases, closing };

  static constexpr std::uint32_t leaving = std::uint32_t{1} << 31;

  [[gnu::noinline, gnu::cold]] bool go_on() {
    after_phase(bench_processor_now() - start_);
    if (stage_ == stage::closing) {
      now_ |= leaving;
      return false;
    }
    laps_left_ = laps_;
    start_ = bench_processor_now();
    return true;
  }

  [[gnu::noinline, gnu::cold]] bool leave(turn t) {
    if (now_ != (t.mine() | leaving)) bench_wrong(program_, "a turn", now_ & ~leaving, t.mine());
    ++left_;
    now_ = t.next() | leaving;
    return false;
  }

  void after_phase(double took) {
    if (stage_ == stage::start) {
      stage_ = stage::sizes;
    } else if (stage_ == stage::sizes && took < std::min(long_enough_to_time, seconds_)) {
      laps_ *= 2;
    } else if (stage_ == stage::sizes) {
      const double laps = static_cast<double>(laps_) * seconds_ / took;
      laps_ = std::max<std::uint64_t>(1, static_cast<std::uint64_t>(laps));
      stage_ = stage::phases;
    } else {
      if (phases_left_ <= samples_) {
        bench_report(took, (", \"switches\": " + std::to_string(laps_ * n_)).c_str());
      }
      if (--phases_left_ == 0) stage_ = stage::closing;
    }
  }

  // Every turn's, in one line.
  std::uint32_t now_ = 0;
  std::uint64_t laps_left_ = 2;
  const char* const program_;
  const std::uint64_t n_;
  const double seconds_;
  const bool chain_;
  long phases_left_;
  const long samples_;

  stage stage_ = stage::start;
  std::uint64_t laps_ = 1;  // in the phase
  double start_ = 0;
  std::uint64_t left_ = 0;
  std::vector<std::uint32_t> order_;     // position -> fiber
  std::vector<std::uint32_t> position_;  // fiber -> position
};

}  // namespace bench
