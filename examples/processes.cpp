// Child processes and signals: a filter that is fed and read at a time, a child that takes too long, and a signal from
// outside. Each wait stops one fiber and no worker.
#include <shunt/io.hpp>
#include <shunt/sched.hpp>
#include <shunt/task.hpp>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <exception>
#include <string>
#include <system_error>

using namespace std::chrono_literals;
using use = shunt::io::child_options::use;

namespace {

std::string sorted(const std::string& text) {
  auto sort = shunt::io::spawn("sort", {}, {.in = use::pipe, .out = use::pipe});
  std::string all;
  shunt::finish([&] {
    shunt::async([&] {  // pipes hold 64 KiB: one fiber that wrote and then read might wait for ever
      sort.in().write(text);
      sort.in().close();
    });
    for (std::string line; !(line = sort.out().read_until("\n", 4096, 10s)).empty();) all += line;
  });
  return sort.wait(10s).good() ? all : "sort failed";
}

std::string impatient() {
  auto slow = shunt::io::spawn("sleep", {"1000"});
  std::error_code bad;
  slow.wait(bad, 50ms);
  if (bad == shunt::io::errc::timed_out) slow.kill();
  return slow.wait(10s).text();
}

}  // namespace

int main() try {
  shunt::io::signals ends({SIGINT, SIGTERM});  // before there are other threads
  bool right = false;
  shunt::sched::runtime workers;
  workers.run([&] {
    right = sorted("pear\nfig\napple\n") == "apple\nfig\npear\n";
    right &= impatient() == "SIGTERM";
    auto other = shunt::io::spawn("sh", {"-c", "kill -TERM $PPID"});
    const auto one = ends.wait(10s);
    right &= one.number == SIGTERM && one.sender == other.id() && other.wait(10s).good();
  });
  std::printf("processes: %s\n", right ? "right" : "WRONG");
  return right ? 0 : 1;
} catch (const std::exception& bad) {
  std::fprintf(stderr, "%s\n", bad.what());
  return 1;
}
