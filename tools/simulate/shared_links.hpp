/// Transfers that share links: each gets its max-min fair share, and no more than it can use.
///
/// No transfer can get more without taking from one that has no more than it (Bertsekas, Gallager: Data Networks, 2nd
/// edition, 1992, 6.5.2). The shares are worked out anew when a transfer begins or ends, by progressive filling.
#pragma once

#include <cstdint>
#include <vector>

#include "machine.hpp"

namespace shunt::simulate {

class shared_links {
 public:
  explicit shared_links(const std::vector<link_group>& groups);

  /// Whether a train from one node to the other crosses a shared link.
  [[nodiscard]] bool cross(int from_node, int to_node) const noexcept;
  /// \param id     the caller's, handed back by ended()
  /// \param limit  bytes a second that the transfer can use; 0: any number
  void begin(picoseconds now, std::uint32_t id, int from_node, int to_node, std::int64_t bytes, std::int64_t limit);
  /// When the next transfer ends, if none begins before; -1: none is under way.
  [[nodiscard]] picoseconds next_end() const noexcept;
  /// Takes out what has ended by now, in the order in which it began.
  std::vector<std::uint32_t> ended(picoseconds now);

 private:
  struct transfer {
    std::uint32_t id;
    int links[2];       // -1: none
    std::int64_t left;  // micro-bytes
    std::int64_t limit, rate;
  };
  [[nodiscard]] int group_of(int node) const noexcept;
  void advance(picoseconds now);
  void share();

  std::vector<link_group> groups_;
  std::vector<transfer> under_way_;
  picoseconds now_ = 0;
};

}  // namespace shunt::simulate
