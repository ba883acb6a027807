/// What every program of the table moves: numbers, from producers to consumers that each see all of them.
///
/// Producer p of P loads p, p + P, p + 2 P, ... below `goods`; every consumer adds up all that it gets. One good has
/// moved when every consumer has read it.
///
/// `--what circle`, the article's mixed circle: one consumer writes a result over each number, the number after it, and
/// the producer adds up the results before it loads anew. One good has moved when its result has come back.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string_view>
#include <vector>

#include "../common/program.h"

namespace bench {

struct shape {
  long producers, consumers, capacity, trains, goods;
  bool circle;

  [[nodiscard]] long goods_of(long producer) const { return (goods - producer + producers - 1) / producers; }
  [[nodiscard]] std::uint64_t sum() const {
    const auto n = static_cast<std::uint64_t>(goods);
    return n % 2 == 0 ? n / 2 * (n - 1) : (n - 1) / 2 * n;
  }
};

/// Goods are as many as --updates says, but whole trains of every producer.
inline shape shape_of(const char* program, const bench_options& o) {
  if (o.producers < 1 || o.consumers < 1 || o.capacity < 1 || o.trains < 1) {
    bench_bad_option(program, "--producers, --consumers, --capacity, --trains", "at least 1 each");
  }
  const bool circle = std::string_view(o.what) == "circle";
  if (circle && (o.producers != 1 || o.consumers != 1)) bench_absent(program, "a circle has a producer and a consumer");
  const long whole = o.producers * o.capacity;
  return {o.producers, o.consumers, o.capacity, o.trains, (o.updates + whole - 1) / whole * whole, circle};
}

/// For programs without one.
inline shape line_of(const char* program, const bench_options& o) {
  const shape s = shape_of(program, o);
  if (s.circle) bench_absent(program, "has no circle");
  return s;
}

/// What a sample takes, of the clock and of all processors.
class stopwatch {
 public:
  void start() {
    processor_ = bench_processor_now();
    clock_ = bench_now();
  }
  void stop() {
    clock_ = bench_now() - clock_;
    processor_ = bench_processor_now() - processor_;
  }
  [[nodiscard]] double seconds() const { return clock_; }
  [[nodiscard]] double processors() const { return processor_ / clock_; }  // how many were busy

 private:
  double clock_ = 0;
  double processor_ = 0;
};

/// Numbers that a producer still has, for a room of some.
class numbers {
 public:
  numbers(const shape& s, long producer) : next_(producer), step_(s.producers), left_(s.goods_of(producer)) {}
  [[nodiscard]] long left() const { return left_; }
  /// \return how many were put there.
  long fill(long* room, long size) {
    const long n = size < left_ ? size : left_;
    const long step = step_;
    long next = next_;
    for (long i = 0; i != n; ++i, next += step) room[i] = next;  // no product of vectors, which SSE2 does not have
    next_ = next;
    left_ -= n;
    return n;
  }

 private:
  long next_;
  long step_;
  long left_;
};

/// Every number is read, and what is read counts. Eight sums side by side: a single one would wait for each addition,
/// and the table would say how long these take, not how fast goods move.
inline std::uint64_t add_up(const long* goods, long count) {
  constexpr long abreast = 8;
  std::uint64_t sum = 0;
  if (count >= abreast) {
    std::uint64_t sums[abreast] = {};
    do {
      for (long i = 0; i != abreast; ++i) sums[i] += static_cast<std::uint64_t>(goods[i]);
      goods += abreast;
      count -= abreast;
    } while (count >= abreast);
    for (const auto s : sums) sum += s;
  }
  for (long i = 0; i < count; ++i) sum += static_cast<std::uint64_t>(goods[i]);
  return sum;
}

/// A consumer's part in a circle, and the same elsewhere: there it only adds up.
inline std::uint64_t unload(const shape& s, long* goods, long count) {
  const auto sum = add_up(goods, count);
  if (s.circle) {
    for (long i = 0; i != count; ++i) ++goods[i];
  }
  return sum;
}

/// \param results  their sum, in a circle
inline void report(const char* program, const shape& s, const stopwatch& took, const std::vector<std::uint64_t>& sums,
                   std::uint64_t results = 0) {
  for (const auto sum : sums) {
    if (sum != s.sum()) bench_wrong(program, "a consumer's sum", sum, s.sum());
  }
  const auto wanted = s.circle ? s.sum() + static_cast<std::uint64_t>(s.goods) : 0;
  if (results != wanted) bench_wrong(program, "the sum of results", results, wanted);
  char extra[96];
  std::snprintf(extra, sizeof extra, ", \"goods\": %ld, \"processors\": %.3f", s.goods, took.processors());
  bench_report(took.seconds(), extra);
}

}  // namespace bench
