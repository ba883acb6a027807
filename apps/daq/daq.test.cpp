// Whole runs: a process that sends, and the acquisition. How long anything takes decides nothing.
#include <catch2/catch.hpp>
#include <chrono>
#include <set>
#include <string>
#include <vector>

#include "daq/acquisition.hpp"
#include "daq/check.hpp"

namespace daq = shunt::daq;

namespace {

daq::settings small() {
  daq::settings s;
  s.channels = 50;
  s.frames = 40;
  s.timeout = std::chrono::duration<double>(1e9);  // a slow channel is not a stalled one
  return s;
}

struct run {
  explicit run(const daq::settings& s, bool wait = false) {
    daq::generator feed(s);
    found = daq::acquire(s, feed.channels(), [&] {
      feed.go();
      if (wait) feed.wait_until_written();
    });
    known = feed.finish();
    said = daq::check(found, known);
  }
  daq::outcome found;
  std::vector<daq::sent> known;
  daq::verdict said;
};

using lines = std::vector<std::string>;

}  // namespace

TEST_CASE("daq: every frame comes, in order, whatever the channels are") {
  auto s = small();
  s.over = GENERATE(daq::link::unix_socket, daq::link::tcp, daq::link::pipe);
  s.workers = GENERATE(1, 2);
  s.queue = GENERATE(1, 1000);  // 1: every stage waits for the next, all the time
  const run all(s);
  CHECK(all.said.problems == lines{});
  CHECK(all.said.sent == 2000);
  CHECK(all.said.received == 2000);
  CHECK(all.said.left_out == 0);
  CHECK(all.found.incidents.empty());
  CHECK(all.found.resident_early > 0);
  CHECK(all.found.resident_middle > 0);
  CHECK(all.found.resident_end > 0);
}

TEST_CASE("daq: by time and at a rate, whatever was sent has come") {
  auto s = small();
  s.frames = 0;
  s.duration = std::chrono::milliseconds(50);
  s.rate = GENERATE(0, 200);
  const run all(s);
  CHECK(all.said.problems == lines{});
  CHECK(all.said.received == all.said.sent);
  CHECK(all.said.sent > 0);
}

TEST_CASE("daq: channels that send garbage are told, whatever it is, and the others go on") {
  auto s = small();
  s.over = GENERATE(daq::link::unix_socket, daq::link::tcp, daq::link::pipe);
  s.garbled = 7;
  const run all(s);
  CHECK(all.said.problems == lines{});
  CHECK(all.said.sent == all.said.received + all.said.left_out);
  CHECK(all.said.left_out >= 7);
  REQUIRE(all.found.incidents.size() == 7);
  std::set<daq::trouble> kinds;
  for (const auto& one : all.found.incidents) {
    kinds.insert(one.how.what);
    CHECK(daq::plan_of(s, one.channel).what == daq::fault::garbled);
    CHECK(one.how.frame == daq::plan_of(s, one.channel).at);
  }
  CHECK(kinds.size() == 5);
}

TEST_CASE("daq: channels that hang up within a frame are told, and the others go on") {
  auto s = small();
  s.over = GENERATE(daq::link::unix_socket, daq::link::tcp, daq::link::pipe);
  s.hung_up = 5;
  const run all(s);
  CHECK(all.said.problems == lines{});
  CHECK(all.said.left_out == 5);
  REQUIRE(all.found.incidents.size() == 5);
  for (const auto& one : all.found.incidents) {
    CHECK(one.how.what == daq::trouble::hung_up);
    CHECK(one.how.frame == daq::plan_of(s, one.channel).at);
    CHECK(one.how.bytes > 0);
  }
}

TEST_CASE("daq: channels that fall silent are told and closed, and the others go on") {
  auto s = small();
  s.over = GENERATE(daq::link::unix_socket, daq::link::pipe);
  s.frames = 12;
  s.stalled = 5;
  s.timeout = std::chrono::milliseconds(1);
  const run all(s, true);  // all that will come is there, so only they can seem silent
  CHECK(all.said.problems == lines{});
  CHECK(all.said.left_out == 5);
  REQUIRE(all.found.incidents.size() == 5);
  for (const auto& one : all.found.incidents) {
    CHECK(one.how.what == daq::trouble::stalled);
    CHECK(one.how.frame == daq::plan_of(s, one.channel).at);
  }
}

TEST_CASE("daq: all faults at once, on every channel") {
  auto s = small();
  s.frames = 12;
  s.stalled = 16;
  s.garbled = 17;
  s.hung_up = 17;
  s.timeout = std::chrono::milliseconds(1);
  const run all(s, true);
  CHECK(all.said.problems == lines{});
  CHECK(all.found.incidents.size() == 50);
}

TEST_CASE("daq: the observer hears of a fault when it happens, with its number") {
  auto s = small();
  s.hung_up = 1;
  std::vector<std::uint32_t> heard;
  daq::observer watcher;
  watcher.failed = [&](const daq::incident& one) { heard.push_back(one.channel); };
  daq::generator feed(s);
  const auto found = daq::acquire(s, feed.channels(), [&] { feed.go(); }, watcher);
  CHECK(daq::check(found, feed.finish()).problems == lines{});
  CHECK(heard == std::vector<std::uint32_t>{0});
}

TEST_CASE("check: whatever differs from what was sent is a problem") {
  daq::tally three;
  three.frames = 3;
  three.samples = 9;
  std::vector<daq::sent> known(2);
  known[0] = {daq::fault::none, 3, three};
  known[1] = {daq::fault::hung_up, 4, three};
  daq::outcome found;
  found.channels = {three, three};
  found.total.add(three);
  found.total.add(three);
  found.incidents = {{1, {daq::trouble::hung_up, 3, 30, {}}}};
  const auto problems = [&](const daq::outcome& changed) { return daq::check(changed, known).problems; };
  REQUIRE(problems(found) == lines{});
  CHECK(daq::check(found, known).sent == 7);
  CHECK(daq::check(found, known).left_out == 1);
  CHECK(daq::text_of(found.incidents[0]) == "channel 1: hung up at frame 3, after 30 bytes of it");

  auto lost = found;
  lost.channels[0].frames = 2;
  lost.total.frames = 5;
  CHECK(problems(lost) == lines{"channel 0: 2 frames of 3 have come", "the total is not that of what was sent",
                                "7 frames were sent, 5 received, 1 left out of failed channels"});
  auto changed = found;
  changed.channels[0].checksums = 1;
  CHECK(problems(changed) == lines{"channel 0: its sums are not those of what was sent"});
  auto miscounted = found;
  miscounted.total.sum = 1;
  CHECK(problems(miscounted) == lines{"the total is not that of what was sent"});
  auto mixed = found;
  mixed.out_of_order = 2;
  CHECK(problems(mixed) == lines{"2 readings came out of order"});
  auto silent = found;
  silent.incidents.clear();
  CHECK(problems(silent) == lines{"channel 1: should have failed (hung up), and did not"});
  auto other = found;
  other.incidents[0].how.what = daq::trouble::wrong_checksum;
  CHECK(problems(other) == lines{"channel 1: wrong checksum at frame 3; expected: hung up"});
  auto elsewhere = found;
  elsewhere.incidents[0].how.frame = 2;
  CHECK(problems(elsewhere) == lines{"channel 1: hung up at frame 2, after 30 bytes of it; "
                                     "expected at frame 3"});
  auto unasked = found;
  unasked.incidents.push_back({0, {daq::trouble::stalled, 3, 0, {}}});
  CHECK(problems(unasked) == lines{"channel 0: stalled at frame 3, after 0 bytes of it; "
                                   "expected: none"});
}
