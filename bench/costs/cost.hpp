/// What an item of table `costs` is: a way to measure what one operation takes.
///
/// Invariants
///   C1  What is measured once runs before as well, an eighth as often: memory has been found, code is in the caches.
///   C2  Each item counts what it has done, and the count is compared with what was asked for.
///   C3  What one worker does alone is measured in processor time of the process, in which other programs' load hardly
///       shows; beside a thread that spins, of the calling thread. What waits for another thread is measured in wall
///       time.
#pragma once

#include <shunt/sched.hpp>
#include <utility>

#include "../common/program.h"

namespace bench {

inline constexpr const char* costs_program = "costs_shunt";

struct cost {
  double seconds = 0;
  long operations = 0;
};

struct cost_item {
  const char* what;
  cost (*measure)(long operations);
};

inline void must_be(const char* what, long got, long expected) {
  if (got == expected) return;
  bench_wrong(costs_program, what, static_cast<unsigned long long>(got), static_cast<unsigned long long>(expected));
}

/// \param body  does so many operations, and returns how many it has done.
template <typename Body>
cost timed(double (*now)(), long operations, Body&& body) {
  const long before = operations / 8 + 1;
  must_be("operations of the warm-up", body(before), before);
  const double start = now();
  const long done = body(operations);
  const double seconds = now() - start;
  must_be("operations", done, operations);
  return {seconds, operations};
}
template <typename Body>
cost processor_time(long operations, Body&& body) {
  return timed(bench_processor_now, operations, std::forward<Body>(body));
}
template <typename Body>
cost wall_time(long operations, Body&& body) {
  return timed(bench_now, operations, std::forward<Body>(body));
}

/// \return what `body` returns, a fiber of a runtime with one worker.
template <typename Body>
cost on_one_worker(Body&& body, const shunt::sched::spawn_options& where = {}) {
  shunt::sched::runtime one({.workers = 1});
  cost found;
  one.run([&] { one.spawn([&] { found = body(); }, where); });
  return found;
}

/// The compiler must have `value`, and does not know what becomes of it.
template <typename T>
void use(T& value) {
  asm volatile("" : "+r"(value));
}

}  // namespace bench
