/// Jobs for tests: trains so small that waiting for one is common, and checks that any PE may make.
#pragma once

#include <functional>
#include <source_location>
#include <string>

#include <shunt/pgas.hpp>

namespace shunt::testing {

/// Trains of 512 bytes, two a channel: a program waits for a train every few dozen messages.
inline pgas::options tiny(int pes, int workers, int hops = 1) {
  pgas::options o;
  o.pes = pes;
  o.workers = workers;
  o.hops = hops;
  o.transport = "threads";
  o.train_bytes = 512;
  o.budget = 8 * (512 + 64);
  return o;
}

/// The same trains, and enough of them for handlers that send on: they cannot wait.
inline pgas::options small(int pes, int workers, int hops = 1) {
  auto o = tiny(pes, workers, hops);
  o.budget = 1 << 20;
  return o;
}

/// For PEs' programs and handlers, which run on several threads: Catch's assertions are for one. Fails the job.
inline void expect(bool holds, const std::source_location where = std::source_location::current()) {
  if (!holds) {
    throw error("expectation failed at " + std::string(where.file_name()) + ":" + std::to_string(where.line()));
  }
}

/// What the job's message was; empty: it ended well.
inline std::string failure_of(const pgas::options& o, const std::function<void(pgas::pe&)>& program) {
  try {
    pgas::run(o, program);
  } catch (const error& e) {
    return e.what();
  }
  return {};
}

}  // namespace shunt::testing
