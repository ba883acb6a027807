/// What the systems of tables stm-si and stm-ll share. A system runs `body(thread)` on so many threads or fibers at
/// once, and returns when all have ended.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <concepts>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include "program.h"
#include "random.h"

namespace bench {

/// std::threads: rivals'.
struct plain_threads {
  explicit plain_threads(const bench_options&) {}
  template <typename Body>
  static void together(long count, const Body& body) {
    std::vector<std::thread> all;
    for (long i = 0; i < count; ++i) all.emplace_back([&body, i] { body(i); });
    for (auto& t : all) t.join();
  }
};

/// Attempts that were undone since the process began, of a system that counts them; of others nothing is known.
template <typename System>
concept counts_aborts = requires {
  { System::aborts() } -> std::convertible_to<double>;
};
template <typename System>
double aborts_of() {
  if constexpr (counts_aborts<System>) return System::aborts();
  return 0;
}

/// The smallest share over the largest.
inline double fairness(const std::vector<long>& counts) {
  const auto [least, most] = std::minmax_element(counts.begin(), counts.end());
  return *most == 0 ? 0 : static_cast<double>(*least) / static_cast<double>(*most);
}

/// Lets `step(thread)` run again and again on each thread for so long. \return how often each did.
template <typename System, typename Step>
std::vector<long> for_a_time(System& system, long threads, long milliseconds, const Step& step) {
  struct alignas(128) own {
    long count = 0;
  };
  std::vector<own> counts(static_cast<std::size_t>(threads));
  std::atomic<bool> over{false};
  std::thread clock([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
    over.store(true, std::memory_order_relaxed);
  });
  system.together(threads, [&](long me) {
    long n = 0;
    for (; !over.load(std::memory_order_relaxed); ++n) step(me, n);
    counts[static_cast<std::size_t>(me)].count = n;
  });
  clock.join();
  std::vector<long> result;
  for (const own& c : counts) result.push_back(c.count);
  return result;
}

/// Lets `step(thread)` run `each` times on each thread. \return how often each did.
template <typename System, typename Step>
std::vector<long> so_often(System& system, long threads, long each, const Step& step) {
  system.together(threads, [&](long me) {
    for (long n = 0; n < each; ++n) step(me, n);
  });
  return std::vector<long>(static_cast<std::size_t>(threads), each);
}

inline std::string member(const char* name, double value) {
  char text[96];
  std::snprintf(text, sizeof text, ", \"%s\": %.6g", name, value);
  return text;
}

/// Nothing for a system that does not count them: what is not known is not 0.
template <typename System>
std::string aborts_member(double per_commit) {
  return counts_aborts<System> ? member("aborts_per_commit", per_commit) : std::string();
}

}  // namespace bench
