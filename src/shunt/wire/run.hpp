/// How goods lie in a train: runs of goods for one handler.
///
///   train   | run | run | ... |                        each run starts at a multiple of run_alignment
///   run     | run_head | good | good | ... |           one stride, or varying lengths
///   good    | captures |                               plain: all from one PE to one PE, which the head names
///           | stop | captures |                        tagged: which PE of which dock, and from whom
///           | span_head | captures | payload | pad |   varying, always tagged
///
/// The handler's identity and everything else that is the same for neighbouring goods is said once, in the
/// head; a good is the captures of a lambda, or the message of a class, and nothing else.
///
/// Processes of one job run the same program on the same kind of machine (compared at start-up), so goods
/// travel as they lie in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace shunt {
inline namespace v1 {
namespace wire {

inline constexpr std::size_t run_alignment = 16;

/// Bits of run_head::flags.
enum run_flag : std::uint8_t {
  tagged = 1,     ///< each good says its stop
  mixed = 2,      ///< some goods are for other docks: the unloader sends them on
  forwarded = 4,  ///< second leg of two
  answers = 8,    ///< replies to requests: their requests are what is counted
  varying = 16,   ///< each good says its length
  asks = 32,      ///< requests: each will be answered
  untagged = 64,  ///< never says its stops: who unloads the run knows them
  spent = 128,    ///< unloaded already; set by the unloader when it has to come back to a train
};

struct run_head {
  std::uint32_t bytes = 0;    ///< of goods that follow
  std::uint32_t count = 0;    ///< goods that follow
  std::uint16_t handler = 0;  ///< handler_table's number
  std::uint16_t group = 0;    ///< the symmetric object concerned
  std::uint16_t stride = 0;   ///< bytes from good to good; 0: varying
  std::uint8_t mailbox = 0;
  std::uint8_t flags = 0;
  std::uint32_t ticket = 0;  ///< of requests and replies: where the requester keeps what it does then
  std::uint32_t first = 0;   ///< of replies: the request that the first good answers, counted from 0
  std::uint16_t to = 0;      ///< the PE that all goods are for, where they do not say their stops
  std::uint16_t from = 0;    ///< and the PE that sent them
  std::uint32_t check = 0;   ///< between processes: head_check()

  [[nodiscard]] std::byte* goods() noexcept { return reinterpret_cast<std::byte*>(this) + sizeof(run_head); }
};
static_assert(sizeof(run_head) == 32 && alignof(run_head) <= run_alignment);

/// Mixes words of a head that crosses between processes into a number that a changed bit changes. A receiver can see
/// that a handler does not exist; it cannot see that a count is wrong, and would wait for ever for messages that were
/// never sent. No protection against intent: for that the job's network must be trusted.
template <std::size_t Words>
[[nodiscard]] inline std::uint32_t check_of(const std::uint64_t (&words)[Words]) noexcept {
  std::uint64_t h = 0x9e3779b97f4a7c15u;  // the golden ratio; the multiplier is MurmurHash3's finaliser (Appleby, 2011)
  for (const auto w : words) {
    h = (h ^ w) * 0xff51afd7ed558ccdu;
    h ^= h >> 32;
  }
  return static_cast<std::uint32_t>(h);
}

/// What run_head::check must be in a train from worker `from` to worker `to` of the job.
/// Cost: some 5 ns.
[[nodiscard]] inline std::uint32_t head_check(const run_head& head, std::uint16_t from, std::uint16_t to) noexcept {
  std::uint64_t words[4];
  std::memcpy(words, &head, sizeof words);
  static_assert(offsetof(run_head, check) == 28);
  const std::uint64_t ends = std::uint64_t{from} << 16 | to;
  words[3] = (words[3] & 0xffff'ffffu) | ends << 32;  // in the place of the check itself
  return check_of(words);
}

/// From which PE to which; PEs of a job are numbered 0..count-1.
struct stop {
  std::uint16_t to = 0;
  std::uint16_t from = 0;
};

/// PEs a job may have: what a stop can name.
inline constexpr int most_pes = 65'536;

/// A good with its stop.
template <class Good>
struct tagged_good {
  stop at;
  Good good;
};

/// In front of a good of varying length.
struct span_head {
  stop at;
  std::uint32_t bytes = 0;  ///< of captures and payload; the next good starts at a multiple of span_alignment
};
inline constexpr std::size_t span_alignment = 8;

[[nodiscard]] constexpr std::size_t round_up(std::size_t n, std::size_t unit) noexcept {
  return (n + unit - 1) / unit * unit;
}

}  // namespace wire
}  // namespace v1
}  // namespace shunt
