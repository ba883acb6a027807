#include "app.hpp"

#include <fmt/core.h>
#include <sys/resource.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <limits>
#include <shunt/base/error.hpp>
#include <shunt/transport/processes.hpp>
#include <string>
#include <system_error>

#include "command_line.hpp"

namespace shunt::apps {
namespace {

bool rehearsing = false;  // main thread only, before anything is started

}  // namespace

bool parse(command_line& options, int argc, const char* const* argv) {
  return options.parse(argc, argv) && !rehearsing;
}

void rehearse(const app& which, int argc, char** argv) {
  rehearsing = true;
  try {
    which.main(argc, argv);
  } catch (...) {
    rehearsing = false;
    throw;
  }
  rehearsing = false;
}

namespace {

/// The first number behind `key` in a file of the kernel's; without a key, the file's. Negative: it says none.
double number_in(const char* path, std::string_view key) {
  std::ifstream from(path);
  for (std::string word; from >> word;) {
    double number = -1;
    if (key.empty())
      return std::from_chars(word.data(), word.data() + word.size(), number).ec == std::errc() ? number : -1;
    if (word == key && from >> number) return number;
  }
  return -1;
}

}  // namespace

memory_left available_memory() {
  constexpr double endless = std::numeric_limits<double>::infinity();
  memory_left all{endless, endless, endless};
  if (const double kib = number_in("/proc/meminfo", "MemAvailable:"); kib >= 0) all.machine = 1024 * kib;
  // In a container; see cgroups(7), version 2.
  const double limit = number_in("/sys/fs/cgroup/memory.max", "");
  const double used = number_in("/sys/fs/cgroup/memory.current", "");
  if (limit >= 0 && used >= 0) all.container = limit - used;
  rlimit space{};
  if (getrlimit(RLIMIT_AS, &space) == 0 && space.rlim_cur != RLIM_INFINITY) {
    all.process = static_cast<double>(space.rlim_cur);
  }
  return all;
}

void require_memory(std::string_view cause, double bytes, const memory_takers& by, const memory_left& has) {
  constexpr double gib = 1024. * 1024 * 1024;
  const auto require = [&](double takers, double left, const char* where) {
    if (bytes * takers <= left) return;
    throw usage_error(error_number(1106),
                      fmt::format("{}: takes {:.1f} GiB of memory{}, and {:.1f} GiB are left; ask for less", cause,
                                  bytes * takers / gib, takers > by.process ? where : "", std::max(left, 0.) / gib));
  };
  require(by.process, has.process, "");
  require(by.container, has.container, " in all processes of this container");
  require(by.machine, has.machine, " in all processes on this machine");
}

void require_memory(std::string_view cause, double bytes) {
  const double here = std::max(1, transport::ranks_here_by_launcher());
  require_memory(cause, bytes, {.machine = here, .container = here, .process = 1}, available_memory());
}

}  // namespace shunt::apps
