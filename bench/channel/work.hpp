/// The work of table channel, `--rounds` items of it.
///
///   --what stream   one sender, one receiver, room for 1,024 items
///   --what many     four senders, four receivers, room for 1,024 items
///   --what handoff  an item there and back, one at a time, over two channels with room for one
///   --what lock     a mutex that no one else wants is locked and unlocked
#pragma once

#include <string>
#include <string_view>

#include "../common/program.h"

namespace bench {

class channel_work {
 public:
  channel_work(int argc, char** argv) : program_(argv[0]), options_(bench_parse(argc, argv)), what_(options_.what) {
    if (what_ != "stream" && what_ != "many" && what_ != "handoff" && what_ != "lock") {
      bench_bad_option(program_, "--what", options_.what);
    }
    if (options_.pes != 1 && options_.pes != 2) bench_bad_option(program_, "--pes", "(1 or 2)");
  }
  [[nodiscard]] std::string_view what() const noexcept { return what_; }
  [[nodiscard]] int workers() const noexcept { return static_cast<int>(options_.pes); }
  [[nodiscard]] int ends() const noexcept { return what_ == "many" ? 4 : 1; }
  [[nodiscard]] std::size_t room() const noexcept { return what_ == "handoff" ? 1 : 1024; }
  /// Items of each sender: 1, 2, ... to this.
  [[nodiscard]] long each() const noexcept { return options_.rounds / ends(); }
  [[nodiscard]] long samples() const noexcept { return options_.warmup + options_.samples; }

  /// \param sum  of all items, as received; of a lock, how often it was held
  void report(long sample, double seconds, long sum) const {
    const long right = what_ == "lock" ? each() : ends() * each() * (each() + 1) / 2;
    if (sum != right) {
      bench_wrong(program_, "the sum", static_cast<unsigned long long>(sum), static_cast<unsigned long long>(right));
    }
    if (sample >= options_.warmup) bench_report(seconds, "");
  }

 private:
  const char* program_;
  bench_options options_;
  std::string_view what_;
};

}  // namespace bench
