/// How long a transaction takes that reads 10,000 variables and writes one, while a fiber on each worker writes them at
/// random without a pause.
///
///   test_stm_long_reader [rounds]     20 by default; prints milliseconds, and the number of attempts
///
/// Exit 1 if there were more attempts than DESIGN.md says.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <shunt/stm.hpp>
#include <vector>

namespace {

constexpr int variables = 10'000;
constexpr int workers = 2;
constexpr int most_runs = 9;  // eight attempts, and an irrevocable one

struct round_trip {
  double milliseconds;
  int runs;
  long writes;  // by other transactions, meanwhile
};

round_trip one_round() {
  std::vector<std::unique_ptr<shunt::tvar<long>>> all;
  for (int i = 0; i < variables; ++i) all.push_back(std::make_unique<shunt::tvar<long>>(0));
  std::atomic<bool> over{false};
  std::atomic<int> writing{0};
  std::atomic<long> writes{0};
  round_trip r{0, 0, 0};
  shunt::sched::runtime rt({.workers = workers});
  rt.run([&] {
    for (int w = 0; w < workers; ++w) {
      rt.spawn(
          [&, w] {
            ++writing;
            for (auto i = static_cast<unsigned>(w); !over; ++i) {
              all[i * 7919 % variables]->update([](long v) { return v + 1; });
              writes.fetch_add(1, std::memory_order_relaxed);
              if (i % 64 == 0) shunt::sched::this_fiber::yield();
            }
          },
          {.worker = w});
    }
    rt.spawn(
        [&] {
          while (writing != workers) shunt::sched::this_fiber::yield();
          const long before = writes;
          const auto begin = std::chrono::steady_clock::now();
          const long sum = shunt::atomically([&](shunt::tx& t) {
            ++r.runs;
            long s = 0;
            for (auto& x : all) s += t.read(*x);
            t.write(*all[0], s);
            return s;
          });
          r.milliseconds = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
          r.writes = writes - before;
          over = true;
          static_cast<void>(sum);
        },
        {.worker = 1});
  });
  return r;
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 20;
  std::vector<double> times;
  std::vector<int> runs;
  long writes = 0;
  for (int i = 0; i < rounds; ++i) {
    const auto r = one_round();
    times.push_back(r.milliseconds);
    runs.push_back(r.runs);
    writes += r.writes;
  }
  std::sort(times.begin(), times.end());
  std::sort(runs.begin(), runs.end());
  const auto middle = times.size() / 2;
  std::printf(
      "%d variables read against %d writers, %d rounds: %.2f ms (median; at most %.2f), begun again %d times "
      "(median; at most %d); %ld commits of others meanwhile, in all\n",
      variables, workers, rounds, times[middle], times.back(), runs[middle] - 1, runs.back() - 1, writes);
  return runs.back() <= most_runs ? 0 : 1;
}
