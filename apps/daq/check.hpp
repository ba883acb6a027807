/// Whether everything that was sent has come: the generator's word against the acquisition's.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "daq/acquisition.hpp"
#include "daq/generator.hpp"

namespace shunt::daq {

struct verdict {
  std::uint64_t sent = 0;      ///< frames that the generator has begun
  std::uint64_t received = 0;  ///< frames in the total
  /// Frames of failed channels, from the one at which they failed on; where no frame was lost,
  /// sent = received + left_out.
  std::uint64_t left_out = 0;
  /// Empty if each channel's tally and the total are the generator's, and those channels failed
  /// that should, as and where they should. A line each.
  std::vector<std::string> problems;
};

[[nodiscard]] verdict check(const outcome& found, std::span<const sent> known);

/// "channel 17: hung up at frame 5, after 30 bytes of it"
[[nodiscard]] std::string text_of(const incident& one);

}  // namespace shunt::daq
