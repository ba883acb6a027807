// The acquisition without a stack for one of its fibers, each in turn, and for all from there on: it ends.
#include <catch2/catch.hpp>
#include <chrono>
#include <exception>
#include <string>
#include <support/jobs.hpp>
#include <support/refused_stacks.hpp>

#include "daq/acquisition.hpp"
#include "daq/counting.hpp"

namespace daq = shunt::daq;
using shunt::testing::refused_stacks;

TEST_CASE("daq: where a fiber gets no stack, the acquisition ends by an exception, or as if nothing had happened") {
  daq::settings s;
  s.channels = 6;
  s.frames = 20;
  s.timeout = std::chrono::duration<double>(1e9);  // a slow channel is not a stalled one
  s.queue = 2;
  s.workers = GENERATE(1, 2);
  const bool all_later = GENERATE(false, true);
  int refusals = 0;
  for (long n = 1;; ++n) {
    REQUIRE(n < 100);
    daq::generator feed(s);  // a process of its own, before stacks are refused
    const refused_stacks refused(n, all_later);
    try {
      const auto found = daq::acquire(s, feed.channels(), [&] { feed.go(); });
      CHECK(found.total.frames == s.channels * s.frames);
    } catch (const std::exception& e) {
      CAPTURE(n, e.what());
      const std::string what = e.what();
      CHECK((what.find("stack") != std::string::npos || what.find("got no fiber") != std::string::npos));
      ++refusals;
    }
    if (refused_stacks::asked() < n) break;
  }
  CHECK(refusals > 6);
}

TEST_CASE(
    "counting: where a fiber gets no stack, the job ends by an exception that says so, or as if nothing had been") {
  daq::settings s;
  s.channels = 6;
  s.frames = 20;
  s.timeout = std::chrono::duration<double>(1e9);  // a slow channel is not a stalled one
  const int workers = GENERATE(1, 2);
  const bool all_later = GENERATE(false, true);
  int refusals = 0;
  for (long n = 1;; ++n) {
    REQUIRE(n < 100);
    daq::generator feed(s, daq::generator::unopened());  // a process of its own, before stacks are refused
    const refused_stacks refused(n, all_later);
    try {
      const auto all = daq::count_on_pes(shunt::testing::small(2, workers), s, feed);
      CHECK(all.found.total.frames == s.channels * s.frames);
    } catch (const std::exception& e) {
      CAPTURE(n, e.what());
      CHECK(std::string(e.what()).find("stack") != std::string::npos);
      ++refusals;
    }
    if (refused_stacks::asked() < n) break;
  }
  CHECK(refusals > 6);
}
