/// Question: how much do 8 actors get into the mailbox of one?
///
/// `--what thread`, for one sender, or `--variant threads`: how much do plain threads?
/// `--variant age`: how old is a message of a thread when the actor has been idle, one each `--period` us?
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <shunt/actor.hpp>
#include <string>
#include <thread>
#include <vector>

#include "../common/program.h"

namespace {

struct receiver {
  void take(long value) { sum += value; }
  long total() const { return sum; }
  long sum = 0;
};
struct sender {
  void send(shunt::ref<receiver> to, long messages) {
    for (long k = 0; k < messages; ++k) to.tell<&receiver::take>(k);
  }
};

/// Notes how old each message is; messages are numbered.
struct witness {
  void see(long number, double sent) {
    in_order &= number == static_cast<long>(ages.size());
    ages.push_back(bench_now() - sent);
  }
  std::vector<double> all() const { return in_order ? ages : std::vector<double>(); }
  std::vector<double> ages;
  bool in_order = true;
};

void check(const char* program, long sum, long want) {
  if (sum == want) return;
  bench_wrong(program, "the sum", static_cast<unsigned long long>(sum), static_cast<unsigned long long>(want));
}

/// One sample of actors that send, or of threads.
double sample(shunt::manager& all, const bench_options& options, const char* program) {
  const bool threads = options.variant == std::string("threads") || options.what == std::string("thread");
  const int workers = static_cast<int>(options.pes);
  const long senders = options.table, each = options.rounds / senders;
  auto into = all.spawn<receiver>({.worker = 0});
  std::vector<shunt::ref<sender>> from;
  for (long s = 0; s < senders && !threads; ++s) {
    from.push_back(all.spawn<sender>({.worker = static_cast<int>(s) % workers}));
  }
  all.drain();
  const double start = bench_now();
  for (const auto& s : from) s.tell<&sender::send>(into, each);
  std::vector<std::thread> outside;
  for (long s = 0; s < senders && threads; ++s) outside.emplace_back([&] { sender().send(into, each); });
  for (auto& t : outside) t.join();
  all.drain();
  const double seconds = bench_now() - start;
  check(program, all.await(into.ask<&receiver::total>()), senders * (each * (each - 1) / 2));
  for (const auto& s : from) all.stop(s);
  all.stop(into);
  return seconds;
}

/// One sample of ages, of `--updates` messages.
void report_ages(shunt::manager& all, const bench_options& options, const char* program, bool warm) {
  auto to = all.spawn<witness>({.worker = 0});
  for (long k = 0; k < options.updates; ++k) {
    std::this_thread::sleep_for(std::chrono::microseconds(options.period));
    to.tell<&witness::see>(k, bench_now());
  }
  all.drain();
  auto ages = all.await(to.ask<&witness::all>());
  all.stop(to);
  check(program, static_cast<long>(ages.size()), options.updates);
  std::sort(ages.begin(), ages.end());
  char extra[96];
  std::snprintf(extra, sizeof extra, ", \"median_ns\": %.0f, \"p99_ns\": %.0f", ages[ages.size() / 2] * 1e9,
                ages[ages.size() * 99 / 100] * 1e9);
  if (warm) bench_report(static_cast<double>(options.updates * options.period) * 1e-6, extra);
}

}  // namespace

int main(int argc, char** argv) try {
  const auto options = bench_parse(argc, argv);
  const int workers = static_cast<int>(options.pes);
  shunt::manager all(shunt::sched::options{.workers = workers, .stuck_after = {}});
  for (long round = 0; round < options.warmup + options.samples; ++round) {
    if (options.variant == std::string("age")) {
      report_ages(all, options, argv[0], round >= options.warmup);
      continue;
    }
    const double seconds = sample(all, options, argv[0]);
    if (round >= options.warmup) bench_report(seconds, "");
  }
  return 0;
} catch (const std::exception& problem) {
  std::fprintf(stderr, "%s: %s\n", argv[0], problem.what());
  return 1;
}
