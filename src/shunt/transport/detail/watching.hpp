/// How ranks watch each other, whatever carries their trains.
#pragma once

#include <array>
#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

namespace shunt {
inline namespace v1 {
namespace transport {
namespace detail {

/// How long a rank that an exception ends waits for the other ranks to end as it does.
inline constexpr std::chrono::milliseconds unwinding_limit{2'000};

/// Silence, and a wait with a limit, take at least so many looks: the time between two of them counts as at most this
/// part of the deadline, since this process may have been stopped itself.
inline constexpr int looks_a_deadline = 5;

/// In jobs of at most this many ranks all watch all. In larger ones each watches two, so that a look costs the same.
inline constexpr int most_ranks_all_to_all = 8;

/// The ranks that a rank watches, and is watched by, each once: all others, or those beside it in a ring, of which the
/// next one comes first.
[[nodiscard]] inline std::vector<int> peers_of(int rank, int ranks) {
  if (ranks > most_ranks_all_to_all) return {(rank + 1) % ranks, (rank + ranks - 1) % ranks};
  std::vector<int> others;
  for (int r = 0; r < ranks; ++r) {
    if (r != rank) others.push_back(r);
  }
  return others;
}

/// "1.5 s"
[[nodiscard]] inline std::string seconds(std::chrono::nanoseconds time) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.1f s", std::chrono::duration<double>(time).count());
  return text.data();
}

}  // namespace detail
}  // namespace transport
}  // namespace v1
}  // namespace shunt
