/// What a channel sends: frames of samples; and what is read out of one.
///
///   0       4         8          16      20         24
///   | magic | channel | sequence | bytes | checksum | samples, 16 bits each ...
///
/// Little-endian. `bytes` counts the samples' alone; `checksum` is the CRC-32 (zlib's) of all that
/// stands before it and of the samples. A channel numbers its frames 0, 1, 2 ...
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

namespace shunt::daq {

using sample = std::int16_t;

inline constexpr std::uint32_t magic = 0x51414453;  ///< "SDAQ"
inline constexpr std::size_t head_bytes = 24;
inline constexpr std::size_t most_frame_bytes = 4096;
inline constexpr std::size_t most_samples = (most_frame_bytes - head_bytes) / sizeof(sample);
static_assert(most_samples == 2036);

/// Why a channel was given up.
enum class trouble : std::uint8_t {
  none,
  stalled,         ///< no byte came within the time allowed
  hung_up,         ///< the end came within a frame
  no_magic,        ///< garbage from here on: this is no frame,
  other_channel,   ///< or that of another channel,
  other_sequence,  ///< or not the next one,
  wrong_length,    ///< or has no samples, half of one, or too many,
  wrong_checksum,  ///< or is not what was sent
  unreadable,      ///< the system says why
};
/// "stalled", "wrong checksum": for people and programs alike.
[[nodiscard]] const char* name_of(trouble what) noexcept;

struct head {
  std::uint32_t magic = 0;
  std::uint32_t channel = 0;
  std::uint64_t sequence = 0;
  std::uint32_t bytes = 0;
  std::uint32_t checksum = 0;
};

/// What one frame said: some sums instead of its samples.
struct reading {
  std::uint32_t channel = 0;
  std::uint32_t samples = 0;
  std::uint64_t sequence = 0;
  std::int64_t sum = 0;
  sample least = 0;
  sample most = 0;
  std::uint32_t checksum = 0;
};

/// Readings added up, of one channel or of several. The order does not matter here; the fiber that adds checks that it
/// was kept.
struct tally {
  std::uint64_t frames = 0;
  std::uint64_t samples = 0;
  std::int64_t sum = 0;
  sample least = std::numeric_limits<sample>::max();
  sample most = std::numeric_limits<sample>::min();
  std::uint64_t checksums = 0;  ///< their sum, modulo 2^64: which frames these were, and what was in them

  void add(const reading& one) noexcept;
  void add(const tally& others) noexcept;
  /// Heads and samples.
  [[nodiscard]] std::uint64_t bytes() const noexcept { return frames * head_bytes + samples * sizeof(sample); }
  friend bool operator==(const tally&, const tally&) = default;
};

/// Puts a frame into `into`. \param samples  1..most_samples (contract).
/// \return its bytes; what it says, as the sender knows it, in `said`.
[[nodiscard]] std::size_t write_frame(std::span<std::byte, most_frame_bytes> into, std::uint32_t channel,
                                      std::uint64_t sequence, std::span<const sample> samples, reading& said) noexcept;

/// Overwrites the head of the frame that begins at `at`, checksum and all.
void write_head(std::span<std::byte, head_bytes> at, const head& h) noexcept;
[[nodiscard]] head read_head(std::span<const std::byte, head_bytes> from) noexcept;

/// Whether this can be the head of that frame. \return what is wrong with it, or none.
[[nodiscard]] trouble check(const head& h, std::uint32_t channel, std::uint64_t sequence) noexcept;

/// Of a frame with this head. \param samples  h.bytes of them.
[[nodiscard]] std::uint32_t checksum_of(const head& h, std::span<const std::byte> samples) noexcept;

/// What a frame says whose head and checksum are right.
[[nodiscard]] reading decode(const head& h, std::span<const std::byte> samples) noexcept;

}  // namespace shunt::daq
