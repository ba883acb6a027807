#include "daq/channel.hpp"

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <shunt/task.hpp>
#include <support/io.hpp>
#include <utility>
#include <vector>

#include "daq/settings.hpp"

namespace daq = shunt::daq;
namespace io = shunt::io;
using namespace io::testing;
using namespace std::chrono_literals;

namespace {

constexpr std::uint32_t channel = 3;
constexpr auto ever = std::chrono::duration<double>(1e9);

using bytes = std::vector<std::byte>;

/// Frame `sequence`, as it goes over the wire.
bytes frame(std::uint64_t sequence, std::uint32_t most_samples = 100) {
  daq::settings s;
  s.samples = most_samples;
  std::array<daq::sample, daq::most_samples> samples;
  std::array<std::byte, daq::most_frame_bytes> room;
  daq::reading said;
  const auto size = daq::write_frame(room, channel, sequence, daq::make_samples(s, channel, sequence, samples), said);
  return {room.begin(), room.begin() + static_cast<std::ptrdiff_t>(size)};
}

bytes frames(std::uint64_t count, std::uint32_t most_samples = 100) {
  bytes all;
  for (std::uint64_t n = 0; n < count; ++n) {
    const auto one = frame(n, most_samples);
    all.insert(all.end(), one.begin(), one.end());
  }
  return all;
}

struct followed {
  daq::ending how;
  std::vector<daq::reading> readings;
};

/// What becomes of a channel to which all of `sent` was written before it is read.
/// \param ends  whether it was closed then.
followed follow(const bytes& sent, bool ends, std::chrono::duration<double> timeout) {
  followed all;
  with_reactor(1, [&](auto&) {
    auto [to, from] = io::connected_pair();
    to.write(sent);
    if (ends) to.close();
    all.how = daq::follow(from, channel, timeout, [&](const daq::reading& r) { all.readings.push_back(r); });
  });
  return all;
}

/// That many frames came, in order.
void check_readings(const followed& all, std::uint64_t count) {
  REQUIRE(all.readings.size() == count);
  for (std::uint64_t n = 0; n < count; ++n) CHECK(all.readings[n].sequence == n);
}

}  // namespace

TEST_CASE("follow: frames are found however the bytes are cut, and the longest ones too") {
  const std::size_t piece = GENERATE(1, 3, 24, 1000, 4096, 5000);
  const std::uint32_t most = GENERATE(1U, 100U, 2036U);
  const bool pipe = GENERATE(false, true);
  CAPTURE(piece, most, pipe);
  constexpr std::uint64_t count = 20;
  const auto all = frames(count, most);
  followed found;
  const auto run = [&](auto& to, auto& from) {
    shunt::finish([&] {
      shunt::async([&] {
        for (std::size_t at = 0; at < all.size(); at += piece) {
          to.write({&all[at], std::min(piece, all.size() - at)});
        }
        to.close();
      });
      found.how = daq::follow(from, channel, ever, [&](const daq::reading& r) { found.readings.push_back(r); });
    });
  };
  with_reactor(1, [&](auto&) {
    if (pipe) {
      auto ends = io::pipe();
      run(ends.in, ends.out);
    } else {
      auto [to, from] = io::connected_pair();
      run(to, from);
    }
  });
  CHECK(found.how.what == daq::trouble::none);
  CHECK(found.how.frame == count);
  check_readings(found, count);
}

TEST_CASE("follow: an end within a frame is told, with the frame and what came of it") {
  const auto two = frames(2);
  const auto third = frame(2);
  for (const std::size_t cut : {std::size_t{1}, daq::head_bytes, third.size() - 1}) {
    auto sent = two;
    sent.insert(sent.end(), third.begin(), third.begin() + static_cast<std::ptrdiff_t>(cut));
    const auto found = follow(sent, true, ever);
    CAPTURE(cut);
    CHECK(found.how.what == daq::trouble::hung_up);
    CHECK(found.how.frame == 2);
    CHECK(found.how.bytes == cut);
    check_readings(found, 2);
  }
}

TEST_CASE("follow: silence is told, within a frame and between two; what had come is not judged by it") {
  const auto two = frames(2);
  const auto third = frame(2);
  for (const std::size_t cut : {std::size_t{0}, std::size_t{1}, daq::head_bytes, third.size() - 1}) {
    auto sent = two;
    sent.insert(sent.end(), third.begin(), third.begin() + static_cast<std::ptrdiff_t>(cut));
    const auto found = follow(sent, false, 1ms);
    CAPTURE(cut);
    CHECK(found.how.what == daq::trouble::stalled);
    CHECK(found.how.frame == 2);
    CHECK(found.how.bytes == cut);
    check_readings(found, 2);
  }
}

TEST_CASE("follow: garbage is told for what it is, and nothing behind it is believed") {
  const auto spoil = [](std::size_t at) {
    auto all = frames(4);
    all[frames(2).size() + at] ^= std::byte{1};
    return follow(all, true, ever);
  };
  const std::vector<std::pair<std::size_t, daq::trouble>> places{
      {0, daq::trouble::no_magic},       {4, daq::trouble::other_channel}, {8, daq::trouble::other_sequence},
      {16, daq::trouble::wrong_length},  {18, daq::trouble::wrong_length}, {20, daq::trouble::wrong_checksum},
      {24, daq::trouble::wrong_checksum}};
  for (const auto& [at, what] : places) {
    const auto found = spoil(at);
    CAPTURE(at);
    CHECK(found.how.what == what);
    CHECK(found.how.frame == 2);
    check_readings(found, 2);
  }
}

TEST_CASE("follow: while what was read cannot be handed on, the sender waits; and nothing is lost") {
  constexpr std::uint64_t count = 5000;
  const auto all = frames(count);
  followed found;
  with_reactor(1, [&](auto&) {
    auto ends = io::connected_pair();
    auto& to = ends.first;
    auto& from = ends.second;
    bool free = false;
    const auto me = shunt::sched::this_fiber::self();
    bool holds = false;
    shunt::sched::waker held;
    shunt::finish([&] {
      shunt::async([&] {
        found.how = daq::follow(from, channel, ever, [&](const daq::reading& r) {
          held = shunt::sched::this_fiber::self();
          holds = true;
          me.wake();
          while (!free) shunt::sched::this_fiber::park();
          found.readings.push_back(r);
        });
      });
      to.write(frame(0));
      while (!holds) shunt::sched::this_fiber::park();
      // What the system buffers, and not a byte more: this does not wait.
      const auto first = frame(0).size();
      std::error_code bad;
      const auto gone = first + to.write({&all[first], all.size() - first}, bad, 0s);
      expect(bad == io::errc::timed_out);
      expect(gone < all.size());
      expect(found.readings.empty());
      free = true;
      held.wake();
      to.write({&all[gone], all.size() - gone});
      to.close();
    });
  });
  CHECK(found.how.what == daq::trouble::none);
  check_readings(found, count);
}
