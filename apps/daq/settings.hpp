/// What is acquired, from how many channels, and which of them fail.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>

#include "daq/frame.hpp"

namespace shunt::daq {

/// What a channel is made of.
enum class link : std::uint8_t { unix_socket, tcp, pipe };

/// What becomes of a channel, by the generator's will.
enum class fault : std::uint8_t {
  none,
  stalled,  ///< half a frame comes, and then nothing
  garbled,  ///< a frame is not what it should be; others follow
  hung_up,  ///< half a frame comes, and then the end
};

struct settings {
  std::uint32_t channels = 10'000;
  link over = link::unix_socket;
  std::uint64_t seed = 1;
  /// Of a frame, 1..most_samples; a frame has between half as many and all.
  std::uint32_t samples = 128;
  /// Frames a second of a channel; 0: as many as are taken.
  double rate = 0;
  /// Frames of a channel; 0: as many as come in `duration`.
  std::uint64_t frames = 0;
  std::chrono::duration<double> duration{60};
  /// Channels that fail, together no more than there are.
  std::uint32_t stalled = 0;
  std::uint32_t garbled = 0;
  std::uint32_t hung_up = 0;

  /// Silence after which a channel counts as stalled.
  std::chrono::duration<double> timeout{5};
  /// Readings of a worker that wait between one stage and the next, some three times as many at most; at least 1.
  std::size_t queue = 1024;
  /// Threads of the acquisition; 0: one a CPU but one, the generator's, at least 1.
  int workers = 0;
};

/// What the generator does to a channel, and at which of its frames.
struct plan {
  fault what = fault::none;
  std::uint64_t at = 0;
};
[[nodiscard]] plan plan_of(const settings& s, std::uint32_t channel) noexcept;

/// Makes the samples of a frame, from seed, channel and sequence alone.
/// \return the part of `into` that they fill.
[[nodiscard]] std::span<const sample> make_samples(const settings& s, std::uint32_t channel, std::uint64_t sequence,
                                                   std::span<sample, most_samples> into) noexcept;

/// Raises the limit of open files as far as this process may.
/// \throws usage_error if so many channels need more.
void allow_channels(std::uint32_t channels);

}  // namespace shunt::daq
