/// The transport `processes` between real processes: what a launcher and its ranks do, also where some are killed.
///
///   processes_ranks orderly            exchanges, services and trains of a job that ends well
///   processes_ranks killed|stopped     the last rank leaves by SIGKILL or SIGSTOP; the others name it
///   processes_ranks resumed            the last rank is stopped for a while, and reports no other rank as lost
///   processes_ranks aborted            the last rank ends the job
///   processes_ranks aborted_with_256   the same, with a status of which the system keeps nothing
///   processes_ranks late               the last rank does not open the transport in time
///   processes_ranks asleep             all sleep for good: for a test that kills the launcher
///   processes_ranks beating            the same, as a program sleeps that a job runs
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

#include <shunt/rail.hpp>
#include <shunt/transport.hpp>
#include <support/expect.hpp>

namespace {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;
using shunt::testing::expect;
using shunt::transport::carrier;

shunt::transport::service settings(const carrier& job, std::chrono::milliseconds deadline) {
  shunt::transport::service s{.capacity = 1024, .deadline = deadline};
  for (int r = 0; r < job.ranks(); ++r) s.rank_of.push_back(r);
  s.yard = shunt::rail::train_pool::bytes_for(4, s.capacity);
  return s;
}

/// Zeros that all ranks of a service see: behind the trains that rank 0 needs.
std::atomic<int>& counter(const carrier& job, int which) {
  return reinterpret_cast<std::atomic<int>*>(job.place_of(0).yard)[16 * which];
}

void meet(const carrier& job, int which) {
  ++counter(job, which);
  while (counter(job, which) < job.ranks()) std::this_thread::sleep_for(1ms);
}

void orderly(carrier& job) {
  expect(job.name() == "processes" && job.ranks_here() == job.ranks() && !job.has_network(), "what it says of itself");
  for (int i = 0; i < 3; ++i) {
    const auto all = job.exchange(std::string(static_cast<std::size_t>(9'000 * job.rank()), 'x'));
    for (int r = 0; r < job.ranks(); ++r) {
      expect(all[static_cast<std::size_t>(r)].size() == static_cast<std::size_t>(9'000 * r), "a text's length");
    }
    job.start(settings(job, 30s));
    for (int which = 0; which < 4; ++which) expect(counter(job, which) <= job.ranks(), "memory as new");
    meet(job, 0);
    expect(!job.beat(), "that all are well");
    job.stop();
  }
}

/// The last rank gets lost; every other one names it. Rank 0 ends the job once all of them have.
void lost(carrier& job, int signal, const std::string& why) {
  const int victim = job.ranks() - 1;
  job.start(settings(job, 1s));
  meet(job, 0);
  if (job.rank() == victim) raise(signal);
  for (const auto start = clock::now(); clock::now() < start + 100s; std::this_thread::sleep_for(50ms)) {
    const auto seen = job.beat();
    if (!seen) continue;
    expect(seen->rank == victim && seen->why.starts_with(why), "the rank and the reason: " + seen->why);
    ++counter(job, 1);
    while (counter(job, 1) < job.ranks() - 1) std::this_thread::sleep_for(1ms);
    if (job.rank() != 0) std::this_thread::sleep_for(10s);
    std::printf("all named rank %d: %s\n", victim, seen->why.c_str());
    std::fflush(stdout);
    job.abort(3);
  }
  expect(false, "all report the loss of rank " + std::to_string(victim));
}

void resumed(carrier& job) {
  const int victim = job.ranks() - 1;
  const auto pids = job.exchange(std::to_string(getpid()));
  job.start(settings(job, 1s));
  meet(job, 0);
  if (job.rank() == victim) {
    raise(SIGSTOP);
    for (int i = 0; i < 80; ++i, std::this_thread::sleep_for(25ms)) expect(!job.beat(), "that no other rank is lost");
  } else {
    bool named = false;
    for (const auto start = clock::now(); !named && clock::now() < start + 100s; std::this_thread::sleep_for(25ms)) {
      const auto seen = job.beat();
      named = seen && seen->rank == victim;
    }
    expect(named, "that it was named");
    ++counter(job, 2);
    // Once all have named it.
    for (; job.rank() == 0 && counter(job, 2) < job.ranks() - 1; std::this_thread::sleep_for(1ms)) {
    }
    if (job.rank() == 0) kill(std::stoi(pids[static_cast<std::size_t>(victim)]), SIGCONT);
  }
  for (++counter(job, 1); counter(job, 1) < job.ranks(); std::this_thread::sleep_for(25ms)) {
    static_cast<void>(job.beat());
  }
  expect(!job.beat(), "that all are well again");
  job.stop();
}

void sleep_for_good(carrier& job, bool beating) {
  static_cast<void>(job.exchange(""));
  std::printf("%d\n", static_cast<int>(getpid()));
  std::fflush(stdout);
  for (int i = 0; i < 3'000; ++i, std::this_thread::sleep_for(200ms)) {
    if (beating) static_cast<void>(job.beat());
  }
}

int run(const std::string& what) {
  const auto* const rank = std::getenv("SHUNT_RANK");
  if (what == "late" && rank != nullptr && std::string(rank) == "1") std::this_thread::sleep_for(100s);
  const auto job = shunt::transport::open("auto", {}, {.gather = what == "late" ? 500ms : 30s, .name = "test"});
  if (what == "orderly") {
    orderly(*job);
  } else if (what == "killed") {
    lost(*job, SIGKILL, "ended (process ");
  } else if (what == "stopped") {
    lost(*job, SIGSTOP, "stopped (process ");
  } else if (what == "resumed") {
    resumed(*job);
  } else if (what == "aborted" || what == "aborted_with_256") {
    job->start(settings(*job, 30s));
    meet(*job, 0);
    if (job->rank() == job->ranks() - 1) job->abort(what == "aborted" ? 7 : 256);
    std::this_thread::sleep_for(10min);  // longer than the test may take
  } else if (what == "asleep" || what == "beating") {
    sleep_for_good(*job, what == "beating");
  } else {
    expect(false, "`" + what + "` is one of the words above");
  }
  if (job->rank() == 0) std::printf("%s: %d ranks, all well\n", what.c_str(), job->ranks());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  return shunt::testing::status_of([&] { return run(argc > 1 ? argv[1] : "orderly"); });
}
