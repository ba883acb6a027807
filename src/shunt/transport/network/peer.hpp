/// A rank that this one exchanges heartbeats with, and which of several silent ranks is the lost one.
#pragma once

#include <chrono>
#include <span>

namespace shunt {
inline namespace v1 {
namespace transport {
namespace network {

/// Another rank, as the words of life show it.
struct peer {
  int rank = 0;                        ///< its number, 0..ranks-1
  std::chrono::nanoseconds silent{0};  ///< watched time since its last word
  bool goodbye_received = false;       ///< it will send no further words
};

/// The peer that counts as lost: null while each one has said a word within the deadline, or goodbye.
///
/// A stopped rank may hold what others wait for inside the network's library, so that they fall silent after it, and a
/// busy machine may let their silence reach the deadline first. So a rank that the kernel calls stopped goes first,
/// from half the deadline on: a debugger that holds a rank for a moment does not explain the silence of another.
/// Without one it is the rank that has been silent for longest.
/// \param is_stopped  bool(int rank): the kernel says so; false of a rank on another machine. Called only when a peer
///                    has reached the deadline.
template <class IsStopped>
[[nodiscard]] const peer* find_silent(std::span<const peer> peers, std::chrono::nanoseconds deadline,
                                      IsStopped is_stopped) {
  const peer* longest = nullptr;
  for (const auto& p : peers) {
    if (!p.goodbye_received && (longest == nullptr || p.silent > longest->silent)) longest = &p;
  }
  if (longest == nullptr || longest->silent < deadline) return nullptr;
  const peer* stopped = nullptr;
  for (const auto& p : peers) {
    if (p.goodbye_received || p.silent < deadline / 2 || (stopped != nullptr && p.silent <= stopped->silent)) continue;
    if (is_stopped(p.rank)) stopped = &p;
  }
  return stopped != nullptr ? stopped : longest;
}

}  // namespace network
}  // namespace transport
}  // namespace v1
}  // namespace shunt
