/// How messages lie in a train: batches of messages for one handler.
///
///   train    | batch | batch | ... |                     each batch starts at a multiple of batch_alignment
///   batch    | batch_head | message | message | ... |    one stride, or varying lengths
///   message  | captures |                                plain: all from one PE to one PE, which the head names
///            | route | captures |                        routed: to which PE, and from which
///            | span_head | captures | payload | pad |    varying, always routed
///
/// The head says once what neighbouring messages have in common, the handler's identity above all. A message is the
/// captures of a lambda, or the message of a class, and nothing else.
///
/// Processes of one job run the same program on the same kind of machine (compared at start-up), so messages travel as
/// they lie in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace shunt {
inline namespace v1 {
namespace wire {

/// Bytes to which each batch's head is aligned.
inline constexpr std::size_t batch_alignment = 16;

/// Bits of batch_head::flags.
enum batch_flag : std::uint8_t {
  routed = 1,     ///< each message has its route in front
  mixed = 2,      ///< some messages are for other workers: the receiver sends them on
  forwarded = 4,  ///< the second of two hops
  replies = 8,    ///< replies to requests: termination counts their requests instead
  varying = 16,   ///< each message says its length
  requests = 32,  ///< each message will be answered
  unrouted = 64,  ///< messages never have a route: the receiver knows it
  unloaded = 128  ///< set by the receiver, which may come back to a train for its other batches
};

/// In front of the messages of one handler in a train.
struct batch_head {
  std::uint32_t bytes = 0;       ///< of messages that follow
  std::uint32_t count = 0;       ///< messages that follow
  std::uint16_t handler = 0;     ///< handler_table's number
  std::uint16_t selector = 0;    ///< the selector's number; 0: none, a message between workers
  std::uint16_t stride = 0;      ///< bytes from message to message; 0: varying
  std::uint8_t mailbox = 0;      ///< of the selector
  std::uint8_t flags = 0;        ///< batch_flag
  std::uint32_t request_id = 0;  ///< of requests and replies: where the requester keeps its continuations
  std::uint32_t first = 0;       ///< of replies: the request that the first message answers, counted from 0
  std::uint16_t to = 0;          ///< the PE that all messages are for, where they have no routes
  std::uint16_t from = 0;        ///< and the PE that sent them
  std::uint32_t check = 0;       ///< between processes: head_check()

  /// The first message.
  [[nodiscard]] std::byte* messages() noexcept { return reinterpret_cast<std::byte*>(this) + sizeof(batch_head); }
};
static_assert(sizeof(batch_head) == 32 && alignof(batch_head) <= batch_alignment);

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

/// What batch_head::check must be in a train from worker `from` to worker `to` of the job.
/// Cost: some 5 ns.
[[nodiscard]] inline std::uint32_t head_check(const batch_head& head, std::uint16_t from, std::uint16_t to) noexcept {
  std::uint64_t words[4];
  std::memcpy(words, &head, sizeof words);
  static_assert(offsetof(batch_head, check) == 28);
  const std::uint64_t ends = std::uint64_t{from} << 16 | to;
  words[3] = (words[3] & 0xffff'ffffu) | ends << 32;  // in the place of the check itself
  return check_of(words);
}

/// From which PE to which; PEs of a job are numbered 0..count-1.
struct route {
  std::uint16_t to = 0;    ///< the PE that gets the message
  std::uint16_t from = 0;  ///< the PE that sent it
};

/// PEs a job may have: what a route can name.
inline constexpr int most_pes = 65'536;

/// A message with its route.
template <class Message>
struct routed_message {
  route way;        ///< from which PE to which
  Message message;  ///< as the handler takes it
};

/// In front of a message of varying length.
struct span_head {
  route way;                ///< from which PE to which
  std::uint32_t bytes = 0;  ///< of captures and payload; the next message starts at a multiple of span_alignment
};
/// Bytes to which each message with a payload is aligned.
inline constexpr std::size_t span_alignment = 8;

/// \return the least multiple of `unit` that is not below `n`.
[[nodiscard]] constexpr std::size_t round_up(std::size_t n, std::size_t unit) noexcept {
  return (n + unit - 1) / unit * unit;
}

}  // namespace wire
}  // namespace v1
}  // namespace shunt
