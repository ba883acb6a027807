/// What each rank has in its symmetric memory from open() to the end: where the ranks meet, what they say, that they
/// live. Other ranks write into it by puts, and read it by gets.
///
///   | met: talk, leave | heard | said: bytes, a piece of text |
///       by those that       by peers      by this rank, for all
///       come in a meeting
///
/// Its size does not depend on the number of ranks.
///
/// Edges: a release on one rank, and an acquire on another; shmem_quiet() stands between the data and the word that
/// tells of them
///   `come`   meeting_place::come() -> meeting_place::is_here()    what a rank did before it came to a meeting
#pragma once

#include <shmem.h>

#include <array>
#include <atomic>
#include <cstddef>

#include <shunt/base/cache_line.hpp>
#include <shunt/transport/detail/watching.hpp>

namespace shunt {
inline namespace v1 {
namespace transport {
namespace shmem {

/// What OpenSHMEM's one-sided calls move at once, and its atomic ones count.
using word = unsigned long;
static_assert(sizeof(word) == 8);

/// Ranks find each other in so many steps: 2^16 ranks at most, as many as a train's head can name.
inline constexpr std::size_t meeting_steps = 16;

/// Bytes of a text that one step of an exchange moves. Texts of exchange() are a line or two; this keeps the get small.
inline constexpr std::size_t piece_bytes = 2'040;

/// The meetings of a job: a rank that an exception brings to its end must not be taken for one that talks.
enum class meeting : std::size_t { talk, leave };

/// In symmetric memory.
struct board {
  /// By meeting and step: the last round of it to which the rank that is 2^step before this one has come.
  alignas(cache_line) std::array<std::array<word, meeting_steps>, 2> met{};
  /// By peer: how many heartbeats it has sent.
  alignas(cache_line) std::array<word, detail::most_ranks_all_to_all> heard{};
  /// A piece of this rank's text.
  struct speech {
    word bytes = 0;                             ///< of the whole text
    std::array<std::byte, piece_bytes> text{};  ///< a piece of it
  };
  alignas(cache_line) speech said;  ///< for the others, between two meetings
  /// What let_library_work() writes, 0.
  alignas(cache_line) word nothing = 0;
};

/// Looks at a word that other ranks put. What they put before it is there, if their fence or quiet stood between.
[[nodiscard]] inline word look(word& at) noexcept {
  return std::atomic_ref<word>(at).load(std::memory_order_acquire);  // acquire: edge `come`; edge `laid`
}

/// By the holder of the gate (gate.G1), before it looks at words that other ranks put: lets OpenSHMEM take messages.
///
/// Where a network emulates puts and gets, they are messages, which the library of their target must take. A loop that
/// only looks would see nothing, for ever. OpenSHMEM has no call that takes messages: in Open MPI 4.1 shmem_test and
/// shmem_wait_until only look. But a put that does not wait makes Open MPI take them, at every second such put, as
/// prefer_settings() of carrier.cpp has set it. So this function puts a zero into this rank's own board.
/// Cost: 20 ns.
inline void let_library_work(board& own, int rank) noexcept {
  static constexpr word zero = 0;
  shmem_putmem_nbi(&own.nothing, &zero, sizeof zero, rank);
}

}  // namespace shmem
}  // namespace transport
}  // namespace v1
}  // namespace shunt
