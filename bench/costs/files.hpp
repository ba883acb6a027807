/// Costs of calls that another thread, or the kernel, makes for a fiber.
#pragma once

#include <unistd.h>

#include <array>
#include <cstdlib>
#include <shunt/io.hpp>
#include <string>

#include "cost.hpp"

namespace bench {

/// A file of some bytes, gone when this ends.
class small_file {
 public:
  small_file() {
    const int made = mkstemp(path_.data());
    if (made < 0 || write(made, text.data(), text.size()) != static_cast<ssize_t>(text.size()))
      bench_absent(costs_program, "no file can be written in /tmp");
    close(made);
  }
  ~small_file() { unlink(path_.c_str()); }
  small_file(const small_file&) = delete;
  small_file& operator=(const small_file&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }
  static constexpr std::array<char, 512> text{'s'};

 private:
  std::string path_ = "/tmp/shunt_costs_XXXXXX";
};

inline cost file_read(long operations, shunt::io::backend by, double (*now)()) {
  const small_file small;
  shunt::sched::runtime one({.workers = 1});
  const shunt::io::reactor waits(one, {.use = by});
  cost found;
  one.run([&] {
    shunt::io::file from(small.path());
    found = timed(now, operations, [&](long n) {
      std::array<char, small_file::text.size()> into{};
      long right = 0;
      for (long i = 0; i < n; ++i) right += from.read_at(0, into) == into.size() && into[0] == 's' ? 1 : 0;
      return right;
    });
  });
  return found;
}
inline cost file_read_helper(long operations) { return file_read(operations, shunt::io::backend::epoll, bench_now); }
inline cost file_read_io_uring(long operations) try {
  return file_read(operations, shunt::io::backend::io_uring, bench_processor_now);  // no other thread takes part
} catch (const shunt::io::io_error& refused) {
  bench_absent(costs_program, refused.what());
  return {};
}

inline cost blocking(long operations) {
  return on_one_worker([operations] {
    return wall_time(operations, [](long n) {
      long calls = 0;
      for (long i = 0; i < n; ++i) calls += shunt::io::blocking([] { return 1; });
      return calls;
    });
  });
}

}  // namespace bench
