/// A machine that need not exist: nodes, ranks, workers, and what it takes to get a train from one worker to another.
///
///   node   | rank: worker worker ... | rank: ...  |--- injection ---> network ---> other nodes
///
/// Three kinds of lines: between workers of a rank, between ranks of a node, and between nodes. Each has the five
/// parameters of LogGP (Alexandrov, Ionescu, Schauser, Scheiman, SPAA 1995, doi:10.1145/215399.215427):
///
///   L    a train's first byte travels so long
///   o_s  the sending worker is busy so long, o_r the receiving one
///   G    a process needs so long for each byte that it sends
///   g    and so long after the last one, before the next train begins
///
/// A line between processes may have two more, of a network that sends long trains by a rendezvous:
///
///   eager  a train of more bytes first asks the receiver whether it has room
///   R      until its answer is back: a round trip, as a rule
///
/// Beside them a node has an injection limit, which all its processes share.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "picoseconds.hpp"

namespace shunt::simulate {

/// What a kind of lines is like.
struct line {
  picoseconds latency = 0;   ///< L
  picoseconds send = 0;      ///< o_s
  picoseconds receive = 0;   ///< o_r
  picoseconds gap = 0;       ///< g
  std::int64_t byte_fs = 0;  ///< G, in femtoseconds: 100,000 is 10 GB/s
  std::int64_t eager = 0;    ///< bytes of the longest train that leaves without a question
  picoseconds answer = 0;    ///< R; 0: no train asks
  /// What `bytes` take.
  [[nodiscard]] picoseconds for_bytes(std::int64_t bytes) const noexcept { return scaled(bytes, byte_fs, 1000); }
  /// How long the bytes of a train wait for the receiver's answer.
  [[nodiscard]] picoseconds for_answer(std::int64_t bytes) const noexcept { return bytes > eager ? answer : 0; }
};

/// Links that trains of some nodes share on their way out of these nodes, and into them: a group of a dragonfly, a
/// subtree of a fat tree. Trains that are under way at one time get max-min fair shares.
struct link_group {
  std::string name;
  int first_node = 0;               ///< of the group
  int last_node = 0;                ///< the one behind the last
  std::int64_t bytes_a_second = 0;  ///< in each direction
};

struct machine {
  std::string name;
  std::string source;  ///< where the numbers come from
  int nodes = 1;
  int ranks_a_node = 1;
  int workers_a_rank = 1;
  line within_rank, within_node, between_nodes;
  std::int64_t injection = 0;            ///< bytes a second of a node; 0: no limit
  picoseconds send_message = 0;          ///< to load a message into a train
  picoseconds handle_message = 0;        ///< to handle one, where costs are not measured
  std::int64_t compute_permille = 1000;  ///< what program and handlers take here, of what they took where recorded
  std::vector<link_group> groups;

  [[nodiscard]] int workers() const noexcept { return nodes * ranks_a_node * workers_a_rank; }
  /// What `bytes` take to leave a node.
  [[nodiscard]] picoseconds to_inject(std::int64_t bytes) const noexcept {
    return injection == 0 ? 0 : scaled(bytes, second, injection);
  }
  /// Sends cost nothing and take no time: what is left is the program.
  void make_network_ideal() noexcept;
};

/// \param file  for messages
/// \throws usage_error that names file, key and reason
[[nodiscard]] machine machine_from(std::string_view text, const std::string& file);
/// \throws usage_error as machine_from() does, and where the file cannot be read
[[nodiscard]] machine machine_in(const std::string& file);
/// The text of a file that machine_in() reads as `m`.
[[nodiscard]] std::string text_of(const machine& m);

}  // namespace shunt::simulate
