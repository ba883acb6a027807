/// What one channel's fiber does, from its first frame to its end.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <shunt/io.hpp>
#include <span>
#include <system_error>

#include "daq/frame.hpp"

namespace shunt::daq {

/// How a channel ended.
struct ending {
  trouble what = trouble::none;
  std::uint64_t frame = 0;  ///< the number of those before it, hence its own
  std::size_t bytes = 0;    ///< that had come of it, or behind it, and were not used
  std::error_code code{};   ///< of `unreadable`
};

/// Bytes that came, and were not used yet.
class window {
 public:
  [[nodiscard]] std::size_t size() const noexcept { return end_ - begin_; }
  /// \param count  0..size() (contract).
  [[nodiscard]] std::span<const std::byte> first(std::size_t count) const noexcept {
    return std::span(room_).subspan(begin_, count);
  }
  void drop(std::size_t count) noexcept { begin_ += count; }

  /// Reads on until `count` bytes are there, at most most_frame_bytes; each read may wait for so
  /// long.
  template <typename Source>
  [[nodiscard]] trouble fill(Source& from, std::size_t count, std::chrono::duration<double> timeout,
                             std::error_code& bad) {
    if (size() >= count) return trouble::none;
    if (size() == 0) begin_ = end_ = 0;
    if (begin_ + count > room_.size()) {
      std::memmove(room_.data(), &room_[begin_], size());
      end_ = size();
      begin_ = 0;
    }
    while (size() < count) {
      const io::buffer rest(&room_[end_], room_.size() - end_);
      const auto come = from.read_some(rest, bad, timeout);
      if (bad) return bad == io::errc::timed_out ? trouble::stalled : trouble::unreadable;
      if (come == 0) return trouble::hung_up;
      end_ += come;
    }
    return trouble::none;
  }

 private:
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  std::array<std::byte, most_frame_bytes> room_;
};

/// Reads, checks and decodes frame after frame, and hands each on. \param hand_on  (reading); while
/// it waits, nothing is read, so the sender will wait too.
/// \return after the last frame, or at the first that is not as it should be.
template <typename Source, typename HandOn>
[[nodiscard]] ending follow(Source& from, std::uint32_t channel, std::chrono::duration<double> timeout,
                            const HandOn& hand_on) {
  window come;
  ending at;
  for (;; ++at.frame) {
    at.what = come.fill(from, head_bytes, timeout, at.code);
    at.bytes = come.size();
    if (at.what == trouble::hung_up && at.bytes == 0) return {trouble::none, at.frame};
    if (at.what != trouble::none) return at;
    const auto head = read_head(come.first(head_bytes).first<head_bytes>());
    at.what = check(head, channel, at.frame);
    if (at.what != trouble::none) return at;
    at.what = come.fill(from, head_bytes + head.bytes, timeout, at.code);
    at.bytes = come.size();
    if (at.what != trouble::none) return at;
    const auto samples = come.first(head_bytes + head.bytes).subspan(head_bytes);
    if (checksum_of(head, samples) != head.checksum) {
      at.what = trouble::wrong_checksum;
      return at;
    }
    hand_on(decode(head, samples));
    come.drop(head_bytes + head.bytes);
  }
}

}  // namespace shunt::daq
