/// What the code in the comments of module sched takes for granted: see tools/snippets.py.
#pragma once

#include <stdexcept>
#include <string>

#include <shunt/sched.hpp>
#include <shunt/sched/jobs/jobs.hpp>
#include <shunt/task/finish.hpp>

// Catch2's, without Catch2, which takes seconds to compile.
#define TEST_CASE(name) void test_case()
#define CHECK(what) static_cast<void>(what)

namespace examples::sched_explore_explore {
struct shop {
  explicit shop(int tickets);
  void buy();
  [[nodiscard]] int sold() const;
};
}  // namespace examples::sched_explore_explore

namespace examples::sched_jobs_jobs {
namespace sched = shunt::sched;
extern sched::job mine;
void something_else();
void run_here(sched::job& which);
}  // namespace examples::sched_jobs_jobs

namespace examples::sched_runtime {
void serve(int number);
}  // namespace examples::sched_runtime
