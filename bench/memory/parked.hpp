/// The memory table's measurement, for every system the same: N fibers are made, each runs until it
/// parks, the process's resident bytes are read, all are woken and end.
///
/// One sample a process: a second round would find the first one's memory.
#pragma once

#include <cstdio>
#include <string>

#include "../common/one_cpu.hpp"
#include "../common/program.h"

namespace bench {

class parked_fibers {
 public:
  parked_fibers(const char* program, const bench_options& options) : program_(program), count_(options.fibers) {
    if (count_ < 1) bench_bad_option(program, "--fibers", "(at least 1)");
    stay_on_one_cpu();
  }

  [[nodiscard]] std::size_t size() const noexcept { return static_cast<std::size_t>(count_); }

  /// Before the first fiber, when the system itself has started.
  void start() {
    resident_bytes();  // what reading takes is not counted
    before_ = resident_bytes();
    if (before_ == 0) bench_absent(program_, "no /proc/self/smaps_rollup");
    started_ = bench_processor_now();
  }

  /// By each fiber, before it parks and when it has been woken.
  void parks() noexcept { ++parked_; }
  void wakes() noexcept { ++woken_; }
  [[nodiscard]] bool all_parked() const noexcept { return parked_ == count_; }

  /// When all are parked.
  void measure() {
    seconds_ = bench_processor_now() - started_;
    after_ = resident_bytes();
    check("parked fibers", parked_, count_);
    check("woken fibers", woken_, 0);
  }

  /// When all have ended. \return the program's exit status.
  [[nodiscard]] int finish() const {
    check("woken fibers", woken_, count_);
    bench_report(seconds_, (", \"resident_bytes\": " + std::to_string(after_ - before_) +
                            ", \"process_bytes\": " + std::to_string(after_))
                               .c_str());
    return 0;
  }

 private:
  void check(const char* what, long got, long expected) const {
    if (got == expected) return;
    bench_wrong(program_, what, static_cast<unsigned long long>(got), static_cast<unsigned long long>(expected));
  }

  const char* program_;
  long count_;
  long parked_ = 0;
  long woken_ = 0;
  long long before_ = 0;
  long long after_ = 0;
  double started_ = 0;
  double seconds_ = 0;
};

}  // namespace bench
