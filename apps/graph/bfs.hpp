/// What breadth-first search keeps on each PE.
///
/// A level is searched in one of two directions:
///
///   top down     the vertices of the frontier look for new ones among their neighbours: a message for each vertex that
///                this PE has not named before
///   bottom up    the vertices that are not reached yet look for one of the frontier among their neighbours: no
///                messages, but every PE must know the frontier, a bit a vertex
///
/// Source: Beamer, Asanovic, Patterson: Direction-optimizing breadth-first search. SC 2012, doi:10.1109/SC.2012.50; the
/// bits of all PEs at each level: Buluc, Madduri: Parallel breadth-first search on distributed memory systems. SC 2011,
/// doi:10.1145/2063384.2063471; neighbours of many neighbours first: Yasui, Fujisawa, Goto: NUMA-optimized parallel
/// breadth-first search on multicore single-node system. IEEE BigData 2013, doi:10.1109/BigData.2013.6691600.
#pragma once

#include <algorithm>
#include <cstdint>
#include <graph/adjacency.hpp>
#include <utility>
#include <vector>

namespace shunt::apps {

/// How many vertices, and how long their rows are together.
struct extent {
  std::uint64_t vertices = 0;
  std::uint64_t entries = 0;
  friend extent operator+(const extent& a, const extent& b) { return {a.vertices + b.vertices, a.entries + b.entries}; }
  friend extent operator-(const extent& a, const extent& b) { return {a.vertices - b.vertices, a.entries - b.entries}; }
};

/// Which way the next level goes. Bottom up an entry costs far less than a message does, so it starts early; a small
/// frontier finds what is left sooner than that looks up.
class direction {
 public:
  /// \param frontier  the vertices of the last level. \param left  those that no level has reached. Of all PEs.
  [[nodiscard]] bool bottom_up(const extent& frontier, const extent& left) noexcept {
    up_ = up_ ? frontier.vertices > left.vertices / fewer : frontier.entries > left.entries / more;
    return up_;
  }

 private:
  // On two PEs, with graphs of 2^16 and 2^18 vertices, numbers from 64 to 256 take about as long.
  static constexpr std::uint64_t more = 64;
  static constexpr std::uint64_t fewer = 64;
  bool up_ = false;
};

class search {
 public:
  search(const pgas::pe& me, const adjacency& a)
      : parents(a.count(), nowhere),
        whole{0, a.columns.size()},
        named_(a.at.size(me.count())),
        reached_(a.at.size_of_one()),
        next_(a.at.size_of_one()),
        alone_(a.at.size_of_one()) {
    for (std::uint32_t row = 0; row < a.at.size_of_one(); ++row) {
      if (row >= a.count() || a.degree(row) == 0) {
        alone_.set(row);
      } else {
        ++whole.vertices;
      }
    }
  }

  /// Forgets what was found before.
  void begin() {
    std::fill(parents.begin(), parents.end(), nowhere);
    named_.clear(), next_.clear();
    reached_ = alone_;
  }

  /// The root is this PE's. A root without neighbours is a level of its own.
  void start(const adjacency& a, std::uint32_t row) {
    reached_.set(row);
    parents[row] = a.at.of_row(row);
    queue_.push_back(row);
    found_ = {1, a.degree(row)};
  }
  /// Top down: a vertex of this PE has been named as a neighbour.
  void reach(const adjacency& a, std::uint32_t row, address parent) {
    if (!reached_.add(row)) return;
    parents[row] = parent;
    queue_.push_back(row);
    found_ = found_ + extent{1, a.degree(row)};
  }
  /// \return whether this PE neither has named that vertex before, nor knows that it has been reached
  [[nodiscard]] bool name(address v) noexcept { return named_.add(v); }

  /// Bottom up: each vertex of this PE that is not reached looks for a parent in the frontier.
  void look_up(const adjacency& a, const bitmap& frontier) {
    const auto words = frontier.words();
    const auto reached = reached_.words();
    for (std::size_t w = 0; w < words.size(); ++w) named_.words()[w] |= words[w];
    for (std::size_t w = 0; w < reached.size(); ++w) {
      std::uint64_t now = 0;
      each_bit(~reached[w], [&](std::uint32_t bit) {
        const auto row = static_cast<std::uint32_t>(64 * w) + bit;
        const auto neighbours = a.row(row);
        const auto parent =
            std::find_if(neighbours.begin(), neighbours.end(), [&](address one) { return frontier.has(one); });
        if (parent == neighbours.end()) return;
        parents[row] = *parent;
        found_ = found_ + extent{1, neighbours.size()};
        now |= std::uint64_t{1} << bit;
      });
      next_.words()[w] = now;
      reached[w] |= now;
    }
  }

  /// The level is over on this PE: what it has reached is the next frontier. To be called before the first message of
  /// the next level can come.
  /// \return how much that is
  [[nodiscard]] extent advance() {
    now_ = std::exchange(queue_, {});
    return std::exchange(found_, {});
  }
  /// The frontier's vertices of this PE, as bits or as rows.
  [[nodiscard]] const bitmap& bits() {
    for (const auto row : std::exchange(now_, {})) next_.set(row);
    return next_;
  }
  [[nodiscard]] std::vector<std::uint32_t> rows() {
    for (std::size_t w = 0; w < next_.words().size(); ++w) {
      each_bit(std::exchange(next_.words()[w], 0),
               [&](std::uint32_t bit) { now_.push_back(static_cast<std::uint32_t>(64 * w) + bit); });
    }
    return std::exchange(now_, {});
  }

  std::vector<address> parents;  ///< of each row; nowhere: not reached
  extent whole;                  ///< the vertices of this PE that have neighbours

 private:
  bitmap named_;                      // of all addresses
  bitmap reached_;                    // of this PE's rows, and all that no level can reach
  bitmap next_;                       // what a level has reached bottom up
  bitmap alone_;                      // rows without neighbours, and without a vertex
  std::vector<std::uint32_t> queue_;  // what a level has reached top down
  std::vector<std::uint32_t> now_;    // what the last one has
  extent found_;
};

}  // namespace shunt::apps
