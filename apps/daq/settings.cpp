#include "daq/settings.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <shunt/base/error.hpp>
#include <shunt/base/random.hpp>
#include <string>

namespace shunt::daq {

plan plan_of(const settings& s, std::uint32_t channel) noexcept {
  // The i-th fault is channel i * channels / faults: all different, as there are no more faults.
  const std::uint64_t faults = std::uint64_t{s.stalled} + s.garbled + s.hung_up;
  const std::uint64_t i = (channel * faults + s.channels - 1) / s.channels;
  if (i >= faults || i * s.channels / faults != channel) return {};
  const auto what = i < s.stalled ? fault::stalled : i < s.stalled + s.garbled ? fault::garbled : fault::hung_up;
  constexpr std::uint64_t soon = 16;
  const std::uint64_t frames = s.frames == 0 ? soon : std::min(soon, s.frames);
  return {what, counter_random(s.seed, ~std::uint64_t{0}).below(channel, frames)};
}

std::span<const sample> make_samples(const settings& s, std::uint32_t channel, std::uint64_t sequence,
                                     std::span<sample, most_samples> into) noexcept {
  constexpr std::size_t samples_a_block = 2 * sizeof(std::uint64_t) / sizeof(sample);
  constexpr std::uint64_t blocks_a_frame = 256;
  static_assert(1 + (most_samples + samples_a_block - 1) / samples_a_block <= blocks_a_frame);
  const counter_random numbers(s.seed, channel);
  const std::uint64_t first = sequence * blocks_a_frame;
  const std::uint32_t fewest = std::max(1U, s.samples / 2);
  const std::size_t count = fewest + numbers.block(first)[0] % (s.samples - fewest + 1);
  for (std::size_t i = 0; i < count; i += samples_a_block) {
    const auto block = numbers.block(first + 1 + i / samples_a_block);
    for (std::size_t k = i; k < std::min(count, i + samples_a_block); ++k) {
      into[k] = static_cast<sample>(block[(k - i) / 4] >> (16 * ((k - i) % 4)));
    }
  }
  return into.first(count);
}

void allow_channels(std::uint32_t channels) {
  constexpr rlim_t others = 64;  // the reactor's, standard ones, what the caller has open
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  const rlim_t needed = channels + others;
  if (files.rlim_cur >= needed) return;
  if (files.rlim_max < needed) {
    throw usage_error(error_number(1106), std::to_string(channels) + " channels need " + std::to_string(needed) +
                                              " open files, and the system allows " + std::to_string(files.rlim_max) +
                                              " (ulimit -Hn): ask for fewer channels, or have the limit raised");
  }
  files.rlim_cur = files.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &files);
}

}  // namespace shunt::daq
