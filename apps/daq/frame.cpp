#include "daq/frame.hpp"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <shunt/base/error.hpp>

namespace shunt::daq {
namespace {

// Byte by byte, so that it means the same everywhere; compilers make one instruction of it.
template <typename T>
void put(std::byte* at, T value) noexcept {
  for (std::size_t i = 0; i < sizeof value; ++i) at[i] = static_cast<std::byte>(value >> (8 * i));
}
template <typename T>
T get(const std::byte* at) noexcept {
  T value = 0;
  for (std::size_t i = 0; i < sizeof value; ++i) {
    value = static_cast<T>(value | static_cast<T>(static_cast<T>(at[i]) << (8 * i)));
  }
  return value;
}

constexpr std::size_t checksum_at = 20;
static_assert(checksum_at + sizeof(head::checksum) == head_bytes);

const Bytef* zlibs(const std::byte* bytes) noexcept { return reinterpret_cast<const Bytef*>(bytes); }

/// \param at  i -> sample i
template <typename At>
reading sum_up(const head& h, const At& at) noexcept {
  reading all;
  all.channel = h.channel;
  all.sequence = h.sequence;
  all.samples = static_cast<std::uint32_t>(h.bytes / sizeof(sample));
  all.checksum = h.checksum;
  all.least = std::numeric_limits<sample>::max();
  all.most = std::numeric_limits<sample>::min();
  for (std::uint32_t i = 0; i < all.samples; ++i) {
    const sample one = at(i);
    all.sum += one;
    all.least = std::min(all.least, one);
    all.most = std::max(all.most, one);
  }
  return all;
}

}  // namespace

const char* name_of(trouble what) noexcept {
  switch (what) {
    case trouble::none: return "none";
    case trouble::stalled: return "stalled";
    case trouble::hung_up: return "hung up";
    case trouble::no_magic: return "no magic";
    case trouble::other_channel: return "other channel";
    case trouble::other_sequence: return "other sequence";
    case trouble::wrong_length: return "wrong length";
    case trouble::wrong_checksum: return "wrong checksum";
    case trouble::unreadable: return "unreadable";
  }
  return "";
}

void tally::add(const reading& one) noexcept {
  ++frames;
  samples += one.samples;
  sum += one.sum;
  least = std::min(least, one.least);
  most = std::max(most, one.most);
  checksums += one.checksum;
}

void tally::add(const tally& others) noexcept {
  frames += others.frames;
  samples += others.samples;
  sum += others.sum;
  least = std::min(least, others.least);
  most = std::max(most, others.most);
  checksums += others.checksums;
}

std::size_t write_frame(std::span<std::byte, most_frame_bytes> into, std::uint32_t channel, std::uint64_t sequence,
                        std::span<const sample> samples, reading& said) noexcept {
  SHUNT_ASSERT(!samples.empty() && samples.size() <= most_samples);
  for (std::size_t i = 0; i < samples.size(); ++i) {
    put(&into[head_bytes + i * sizeof(sample)], static_cast<std::uint16_t>(samples[i]));
  }
  head h{magic, channel, sequence, static_cast<std::uint32_t>(samples.size_bytes()), 0};
  h.checksum = checksum_of(h, into.subspan(head_bytes, h.bytes));
  write_head(into.first<head_bytes>(), h);
  said = sum_up(h, [&](std::size_t i) { return samples[i]; });
  return head_bytes + h.bytes;
}

void write_head(std::span<std::byte, head_bytes> at, const head& h) noexcept {
  put(&at[0], h.magic);
  put(&at[4], h.channel);
  put(&at[8], h.sequence);
  put(&at[16], h.bytes);
  put(&at[checksum_at], h.checksum);
}

head read_head(std::span<const std::byte, head_bytes> from) noexcept {
  return {get<std::uint32_t>(&from[0]), get<std::uint32_t>(&from[4]), get<std::uint64_t>(&from[8]),
          get<std::uint32_t>(&from[16]), get<std::uint32_t>(&from[checksum_at])};
}

trouble check(const head& h, std::uint32_t channel, std::uint64_t sequence) noexcept {
  if (h.magic != magic) return trouble::no_magic;
  if (h.channel != channel) return trouble::other_channel;
  if (h.sequence != sequence) return trouble::other_sequence;
  if (h.bytes == 0 || h.bytes % sizeof(sample) != 0 || h.bytes > most_frame_bytes - head_bytes) {
    return trouble::wrong_length;
  }
  return trouble::none;
}

std::uint32_t checksum_of(const head& h, std::span<const std::byte> samples) noexcept {
  std::array<std::byte, head_bytes> before{};
  write_head(before, h);
  const auto sum = crc32(crc32(0, nullptr, 0), zlibs(before.data()), checksum_at);
  return static_cast<std::uint32_t>(crc32(sum, zlibs(samples.data()), static_cast<uInt>(samples.size())));
}

reading decode(const head& h, std::span<const std::byte> samples) noexcept {
  SHUNT_ASSERT(samples.size() == h.bytes);
  return sum_up(h,
                [&](std::size_t i) { return static_cast<sample>(get<std::uint16_t>(&samples[i * sizeof(sample)])); });
}

}  // namespace shunt::daq
