/// What every program of the table does: one thread hands a value to another every so often, and how old it is when the
/// other one has it is counted.
///
/// Invariants
///   P1  The value is the time at which it was sent, as the processors' common counter tells it; each is received once,
///       in order, or the answer is wrong.
///   P2  The sender waits for its next time in a loop: what it costs is a whole core, and is taken off.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <vector>

#include <shunt/base.hpp>

#include "../common/program.h"

namespace bench {

/// Ticks of shunt::ticks() in a nanosecond.
inline double ticks_per_ns() {
  const double start = bench_now();
  const auto first = shunt::ticks();
  while (bench_now() - start < 0.05) {
  }
  return static_cast<double>(shunt::ticks() - first) / (bench_now() - start) * 1e-9;
}

class pace {
 public:
  explicit pace(long period_us, double per_ns)
      : period_(static_cast<std::uint64_t>(static_cast<double>(period_us) * 1e3 * per_ns)),
        next_(shunt::ticks() + period_) {}
  /// The time of the next value, once it has come.
  std::uint64_t next() {
    while (static_cast<std::int64_t>(shunt::ticks() - next_) < 0) shunt::relax();
    next_ += period_;
    return shunt::ticks();
  }

 private:
  std::uint64_t period_;
  std::uint64_t next_;
};

class ages {
 public:
  explicit ages(long count) { all_.reserve(static_cast<std::size_t>(count)); }
  void received(const char* program, std::uint64_t sent) {
    const auto now = shunt::ticks();
    if (sent <= last_) bench_wrong(program, "a value, after a later one,", sent, last_);
    last_ = sent;
    all_.push_back(now > sent ? now - sent : 0);
  }
  void report(const char* program, long count, double per_ns, double seconds, double processor_seconds) {
    if (all_.size() != static_cast<std::size_t>(count)) {
      bench_wrong(program, "values received", all_.size(), static_cast<unsigned long long>(count));
    }
    std::sort(all_.begin(), all_.end());
    const auto at = [&](double share) {
      return static_cast<double>(all_[static_cast<std::size_t>(share * static_cast<double>(all_.size() - 1))]) / per_ns;
    };
    char extra[200];
    std::snprintf(extra, sizeof extra, ", \"median_ns\": %.1f, \"p99_ns\": %.1f, \"receiver_share\": %.4f", at(0.5),
                  at(0.99), std::max(0.0, processor_seconds - seconds) / seconds);
    bench_report(seconds, extra);
  }

 private:
  std::vector<std::uint64_t> all_;
  std::uint64_t last_ = 0;
};

}  // namespace bench
