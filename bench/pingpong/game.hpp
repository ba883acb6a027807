/// The game of table pingpong: `--rounds` balls go to the other player and back.
///
///   --what strict    one ball at a time
///   --what article   so many at a time as fit into the window: the published loop sends many, and each is answered
///   --what ask       as strict, but the sender is a program's own line of control, which asks and has the answer
#pragma once

#include <cstring>
#include <string>

#include "../common/program.h"
#include "../common/to_cpu.hpp"

namespace bench {

class game {
 public:
  game(int argc, char** argv) : program_(argv[0]), options_(bench_parse(argc, argv)) {
    const bool one_at_a_time = std::strcmp(options_.what, "strict") == 0 || asks();
    if (!one_at_a_time && std::strcmp(options_.what, "article") != 0) {
      bench_bad_option(program_, "--what", options_.what);
    }
    if (options_.pes != 1 && options_.pes != 2) bench_bad_option(program_, "--pes", "(1 or 2)");
    window_ = one_at_a_time ? 1 : 512;
  }
  [[nodiscard]] bool asks() const noexcept { return std::strcmp(options_.what, "ask") == 0; }
  [[nodiscard]] int workers() const noexcept { return static_cast<int>(options_.pes); }
  [[nodiscard]] long balls() const noexcept { return options_.rounds; }
  [[nodiscard]] long window() const noexcept { return window_ < balls() ? window_ : balls(); }
  [[nodiscard]] long rounds() const noexcept { return options_.warmup + options_.samples; }

  void report(long round, double seconds, long pings, long pongs) const {
    if (pings != balls()) {
      bench_wrong(program_, "answers", static_cast<unsigned long long>(pings),
                  static_cast<unsigned long long>(balls()));
    }
    if (pongs != balls()) {
      bench_wrong(program_, "balls", static_cast<unsigned long long>(pongs), static_cast<unsigned long long>(balls()));
    }
    if (round >= options_.warmup) bench_report(seconds, "");
  }

 private:
  const char* program_;
  bench_options options_;
  long window_;
};

}  // namespace bench
