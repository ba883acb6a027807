/// What Shunt's own programs of the tables share: a job from the driver's options, and timed rounds.
#pragma once

#include <sys/resource.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include <bale/form.hpp>
#include <bale/place.hpp>
#include <shunt/base/error.hpp>
#include <shunt/pgas.hpp>

#include "program.h"
#include "random.h"

namespace bench {

inline bool lambda_form(const char* program, const bench_options& options) {
  const std::string form = options.variant;
  if (form != "" && form != "lambda" && form != "class") bench_bad_option(program, "--variant", options.variant);
  return form != "class";
}

/// The application's form that --variant names, the lambda form where it names none.
inline shunt::apps::form form_of(const char* program, const bench_options& options) {
  if (std::strcmp(options.variant, "natural") == 0) return shunt::apps::form::natural;
  return lambda_form(program, options) ? shunt::apps::form::lambda : shunt::apps::form::class_;
}

/// The published packed indices as the kernels' places: made before the timing, eight bytes each like them.
inline std::vector<shunt::apps::place> places(const bench_options& options, shunt::pgas::pe& me) {
  std::vector<shunt::apps::place> made(static_cast<std::size_t>(options.updates));
  for (std::size_t i = 0; i < made.size(); ++i) {
    const auto packed = static_cast<std::uint64_t>(bench_packed_index(static_cast<std::uint64_t>(me.index()), i,
                                                                      static_cast<std::uint64_t>(me.count()),
                                                                      static_cast<std::uint64_t>(options.table)));
    made[i] = {static_cast<int>(packed & 0xffff), static_cast<std::uint32_t>(packed >> 16)};
  }
  return made;
}

inline std::string memory() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  return ", \"max_rss_bytes\": " + std::to_string(used.ru_maxrss * 1024L);
}

/// Runs a program on every PE; what goes wrong ends the process.
template <class Program>
int job(const char* program, const bench_options& options, Program body) try {
  auto wanted = shunt::pgas::options_from_environment();
  wanted.pes = static_cast<int>(options.pes);
  wanted.transport = options.transport;
  wanted.name = program;
  shunt::pgas::run(wanted, body);
  return 0;
} catch (const shunt::usage_error& problem) {
  std::fprintf(stderr, "%s: %s\n", program, problem.what());
  return 2;
} catch (const std::exception& problem) {
  std::fprintf(stderr, "%s: %s\n", program, problem.what());
  return 1;
}

/// Rounds of: prepare, barrier, superstep, barrier, check. PE 0 reports the time between the barriers, which is the
/// slowest PE's.
template <class Prepare, class Superstep, class Check>
void rounds(shunt::pgas::pe& me, const bench_options& options, Prepare prepare, Superstep superstep, Check check) {
  for (long round = 0; round < options.warmup + options.samples; ++round) {
    prepare();
    me.barrier();
    const double start = bench_now();
    superstep();
    me.barrier();
    const double seconds = bench_now() - start;
    const std::string members = check();  // collective
    if (me.index() == 0 && round >= options.warmup) bench_report(seconds, members.c_str());
  }
}

/// Ends the job with the driver's words for a wrong answer.
inline void must_be(const char* program, const char* what, std::uint64_t got, std::uint64_t expected) {
  if (got != expected) bench_wrong(program, what, got, expected);
}

}  // namespace bench
