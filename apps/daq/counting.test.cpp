// The counts on the PEs of a job are those of the railway's stations, whatever the number of PEs. Over MPI:
// tests/command/check.sh.
#include <catch2/catch.hpp>
#include <chrono>
#include <string>
#include <support/jobs.hpp>
#include <tuple>
#include <vector>

#include "daq/check.hpp"
#include "daq/counting.hpp"

namespace daq = shunt::daq;
using namespace shunt::testing;

namespace {

using lines = std::vector<std::string>;

daq::settings with_faults() {
  daq::settings s;
  s.channels = 23;  // so PEs have shares of different sizes
  s.frames = 40;
  s.garbled = 5;
  s.hung_up = 3;
  s.timeout = std::chrono::duration<double>(1e9);  // a slow channel is not a stalled one
  return s;
}

daq::counted counted_by(const shunt::pgas::options& job, const daq::settings& s) {
  daq::generator feed(s, daq::generator::unopened());
  return daq::count_on_pes(job, s, feed);
}

/// What does not depend on when a channel was closed.
std::vector<std::tuple<std::uint32_t, daq::trouble, std::uint64_t>> faults_of(const daq::outcome& found) {
  std::vector<std::tuple<std::uint32_t, daq::trouble, std::uint64_t>> all;
  for (const auto& one : found.incidents) all.emplace_back(one.channel, one.how.what, one.how.frame);
  return all;
}

}  // namespace

TEST_CASE("counting: PEs count what the stations count, channel by channel, and see the same faults") {
  auto s = with_faults();
  s.over = GENERATE(daq::link::unix_socket, daq::link::pipe);
  daq::generator feed(s);
  const auto wanted = daq::acquire(s, feed.channels(), [&] { feed.go(); });
  REQUIRE(daq::check(wanted, feed.finish()).problems == lines{});
  const int pes = GENERATE(1, 2, 3, 7);
  const int workers = GENERATE(1, 2);
  CAPTURE(pes, workers);
  const auto all = counted_by(tiny(pes, workers), s);
  CHECK(daq::check(all.found, all.known).problems == lines{});
  CHECK(all.found.channels == wanted.channels);
  CHECK(all.found.total == wanted.total);
  CHECK(faults_of(all.found) == faults_of(wanted));
  CHECK(all.pes == pes);
  CHECK(all.moved.messages == wanted.total.frames);
}

TEST_CASE("counting: more PEs than channels") {
  auto s = with_faults();
  s.channels = 3;
  s.frames = 4;
  s.garbled = 0;
  s.hung_up = 0;
  const auto all = counted_by(tiny(7, 2), s);
  CHECK(daq::check(all.found, all.known).problems == lines{});
  CHECK(all.found.incidents.empty());
  CHECK(all.found.total.frames == 12);
}

TEST_CASE("share: each channel belongs to one process") {
  const std::uint32_t processes = GENERATE(1, 2, 3, 7);
  const std::uint32_t channels = GENERATE(1, 2, 6, 7, 8, 50);
  std::vector<int> seen(channels);
  for (std::uint32_t r = 0; r < processes; ++r) {
    const daq::share mine{r, processes};
    for (std::uint32_t i = 0; i < mine.of(channels); ++i) ++seen.at(mine.channel(i));
  }
  CHECK(seen == std::vector<int>(channels, 1));
}
