#include "daq/frame.hpp"

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <limits>
#include <numeric>
#include <set>
#include <shunt/base/error.hpp>
#include <vector>

#include "daq/settings.hpp"

namespace daq = shunt::daq;

namespace {

using frame = std::array<std::byte, daq::most_frame_bytes>;

std::span<const std::byte> samples_of(const frame& f, const daq::head& h) {
  return std::span(f).subspan(daq::head_bytes, h.bytes);
}
daq::head head_of(const frame& f) { return daq::read_head(std::span(f).first<daq::head_bytes>()); }

/// What is wrong with frame 7 of channel 3, as far as its bytes tell.
daq::trouble judge(const frame& f) {
  const auto h = head_of(f);
  if (const auto bad = daq::check(h, 3, 7); bad != daq::trouble::none) return bad;
  return daq::checksum_of(h, samples_of(f, h)) == h.checksum ? daq::trouble::none : daq::trouble::wrong_checksum;
}

frame seventh_of_three(std::span<const daq::sample> samples) {
  frame f{};
  daq::reading said;
  CHECK(daq::write_frame(f, 3, 7, samples, said) == daq::head_bytes + samples.size_bytes());
  return f;
}

}  // namespace

TEST_CASE("frame: lies in memory as its picture says") {
  const std::vector<daq::sample> samples{1, -2};
  const auto f = seventh_of_three(samples);
  const std::vector<int> wanted{'S', 'D', 'A', 'Q', 3, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0};
  for (std::size_t i = 0; i < wanted.size(); ++i) CHECK(std::to_integer<int>(f[i]) == wanted[i]);
  CHECK(std::to_integer<int>(f[24]) == 1);
  CHECK(std::to_integer<int>(f[26]) == 0xFE);
  CHECK(std::to_integer<int>(f[27]) == 0xFF);
}

TEST_CASE("frame: what was written is what is decoded") {
  const std::size_t count = GENERATE(as<std::size_t>{}, 1, 2, 7, 8, 9, 128, daq::most_samples);
  std::vector<daq::sample> samples(count);
  std::iota(samples.begin(), samples.end(), daq::sample{-5});
  samples.back() = std::numeric_limits<daq::sample>::min();
  if (count > 1) samples.front() = std::numeric_limits<daq::sample>::max();
  frame f{};
  daq::reading said;
  REQUIRE(daq::write_frame(f, 3, 7, samples, said) == daq::head_bytes + 2 * count);
  CHECK(judge(f) == daq::trouble::none);
  const auto read = daq::decode(head_of(f), samples_of(f, head_of(f)));
  for (const auto& one : {said, read}) {
    CHECK(one.channel == 3);
    CHECK(one.sequence == 7);
    CHECK(one.samples == count);
    CHECK(one.sum == std::accumulate(samples.begin(), samples.end(), std::int64_t{0}));
    CHECK(one.least == std::numeric_limits<daq::sample>::min());
    CHECK(one.most == samples.front());
    CHECK(one.checksum == head_of(f).checksum);
  }
}

TEST_CASE("frame: no changed bit passes") {
  const std::vector<daq::sample> samples{1, 20, -300, 4000, 0};
  const auto right = seventh_of_three(samples);
  for (std::size_t bit = 0; bit < 8 * (daq::head_bytes + 2 * samples.size()); ++bit) {
    auto f = right;
    f[bit / 8] ^= std::byte{1} << (bit % 8);
    CAPTURE(bit);
    CHECK(judge(f) != daq::trouble::none);
  }
}

TEST_CASE("frame: check() names what is wrong with a head") {
  const daq::head right{daq::magic, 3, 7, 4, 0};
  CHECK(daq::check(right, 3, 7) == daq::trouble::none);
  CHECK(daq::check({0, 3, 7, 4, 0}, 3, 7) == daq::trouble::no_magic);
  CHECK(daq::check(right, 4, 7) == daq::trouble::other_channel);
  CHECK(daq::check(right, 3, 8) == daq::trouble::other_sequence);
  CHECK(daq::check(right, 3, 6) == daq::trouble::other_sequence);
  const auto of_length = [](std::uint32_t bytes) { return daq::check({daq::magic, 3, 7, bytes, 0}, 3, 7); };
  CHECK(of_length(0) == daq::trouble::wrong_length);
  CHECK(of_length(1) == daq::trouble::wrong_length);
  CHECK(of_length(2) == daq::trouble::none);
  CHECK(of_length(2 * daq::most_samples) == daq::trouble::none);
  CHECK(of_length(2 * daq::most_samples + 2) == daq::trouble::wrong_length);
  CHECK(of_length(0xFFFFFFFE) == daq::trouble::wrong_length);
}

TEST_CASE("tally: is the same in whatever order and groups it is added up") {
  std::array<daq::reading, 3> some{};
  some[0] = {0, 2, 0, 10, -3, 13, 0xFFFFFFFF};
  some[1] = {0, 1, 1, -7, -7, -7, 0xFFFFFFFE};
  some[2] = {1, 4, 0, 6, 0, 3, 5};
  daq::tally one;
  for (const auto& r : some) one.add(r);
  daq::tally first;
  daq::tally rest;
  rest.add(some[2]);
  rest.add(some[1]);
  first.add(some[0]);
  rest.add(first);
  rest.add(daq::tally{});
  CHECK(one == rest);
  CHECK(one.frames == 3);
  CHECK(one.samples == 7);
  CHECK(one.sum == 9);
  CHECK(one.least == -7);
  CHECK(one.most == 13);
  CHECK(one.checksums == 0x200000002);
  CHECK(one.bytes() == 3 * 24 + 7 * 2);
}

TEST_CASE("make_samples: depends on seed, channel and sequence, and keeps to the lengths") {
  daq::settings s;
  std::array<daq::sample, daq::most_samples> room;
  const auto made = [&](std::uint32_t channel, std::uint64_t sequence) {
    const auto all = daq::make_samples(s, channel, sequence, room);
    return std::vector<daq::sample>(all.begin(), all.end());
  };
  for (const std::uint32_t most : {1U, 2U, 3U, 128U, 2036U}) {
    s.samples = most;
    std::set<std::size_t> lengths;
    for (std::uint64_t n = 0; n < 200; ++n) lengths.insert(made(5, n).size());
    CHECK(*lengths.begin() >= std::max(1U, most / 2));
    CHECK(*lengths.rbegin() <= most);
    CHECK(lengths.size() >= std::min<std::size_t>(2, most));
  }
  s.samples = 100;
  const auto one = made(5, 9);
  CHECK(made(5, 9) == one);
  CHECK(made(6, 9) != one);
  CHECK(made(5, 10) != one);
  s.seed = 2;
  CHECK(made(5, 9) != one);
}

TEST_CASE("plan_of: as many faults of each kind as were asked for, at frames that are sent") {
  daq::settings s;
  s.channels = 50;
  s.frames = GENERATE(0, 1, 3, 1000);
  s.stalled = GENERATE(0U, 1U, 20U);
  s.garbled = GENERATE(0U, 3U, 29U);
  s.hung_up = 1;
  std::array<std::uint32_t, 4> found{};
  for (std::uint32_t c = 0; c < s.channels; ++c) {
    const auto fails = daq::plan_of(s, c);
    ++found[static_cast<std::size_t>(fails.what)];
    if (s.frames != 0) CHECK(fails.at < s.frames);
    CHECK(fails.at < 16);
  }
  CHECK(found[1] == s.stalled);
  CHECK(found[2] == s.garbled);
  CHECK(found[3] == s.hung_up);
}

TEST_CASE("allow_channels: says so if the system does not give that many") {
  CHECK_NOTHROW(daq::allow_channels(1));
  CHECK_THROWS_WITH(daq::allow_channels(4'000'000'000),
                    Catch::Contains("4000000000 channels need 4000000064 open files"));
}
