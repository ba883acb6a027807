/// A permutation of 0..n-1 that is dealt out over the PEs, and what a random one is drawn with.
///
/// Each index has a key of 64 bits, which depends on the seed and the index only. The permutation is the order of the
/// keys, and of the indices where keys are equal: the same one for any number of PEs. Every order is equally likely,
/// but for pairs of equal keys: n^2 / 2^65 of them are expected.
///
/// Source: Sanders, "Random permutations on distributed, external and hierarchical memory", IPL 67 (1998),
/// doi:10.1016/S0020-0190(98)00127-6: each to a random PE, in a random order there, and back into equal parts. The
/// keys, which make the result independent of the PEs, are ours.
#pragma once

#include <algorithm>
#include <bale/place.hpp>
#include <bit>
#include <cstdint>
#include <shunt/base/random.hpp>
#include <shunt/pgas/pe.hpp>
#include <span>
#include <utility>
#include <vector>

namespace shunt::apps {

/// What stands at this PE's spots.
using permutation = std::vector<std::uint32_t>;

/// An index whose key lies in the share of one PE, as 32 bits of where its key lies there, and the index. Sorts as the
/// keys do but for those that differ in their last bits only.
using drawn = std::uint64_t;

class random_keys {
 public:
  random_keys(int pe, int pes, std::uint64_t total, std::uint64_t seed)
      : keys_(seed ^ tag), total_(total), pe_(pe), pes_(pes) {}
  random_keys(const pgas::pe& me, std::uint64_t total, std::uint64_t seed)
      : random_keys(me.index(), me.count(), total, seed) {}

  [[nodiscard]] static std::uint64_t key(std::uint64_t seed, std::uint64_t index) noexcept {
    return counter_random(seed ^ tag).at(index);
  }

  /// Calls f(pe, drawn) for each index of this PE's share of the drawing: that key is for that PE.
  template <class F>
  void each(F f) const {
    // Two keys of one block cost no more than one.
    const std::uint64_t blocks = (total_ + 1) / 2, pes = static_cast<std::uint64_t>(pes_);
    const auto begin_of = [&](int pe) { return blocks * static_cast<std::uint64_t>(pe) / pes; };
    for (std::uint64_t b = begin_of(pe_); b < begin_of(pe_ + 1); ++b) {
      const auto two = keys_.block(b);
      give(2 * b, two[0], f);
      if (2 * b + 1 < total_) give(2 * b + 1, two[1], f);
    }
  }

  /// Sorts what came to one PE by its keys. They are spread evenly: two passes of counting bring all but a few to their
  /// places. Cost: O(n).
  void sort(std::vector<drawn>& mine) const {
    std::vector<drawn> other(mine.size());
    const int digit = std::min(static_cast<int>(std::bit_width(mine.size()) + 1) / 2 + 1, 16);
    by_digit(mine, other, 64 - 2 * digit, digit);
    by_digit(other, mine, 64 - digit, digit);
    for (std::size_t i = 1; i < mine.size(); ++i) {
      const drawn one = mine[i];
      std::size_t at = i;
      for (; at > 0 && before(one, mine[at - 1]); --at) mine[at] = mine[at - 1];
      mine[at] = one;
    }
  }

 private:
  static constexpr std::uint64_t tag = 0x7065726d75746521U;  // "permute!": no other stream of the seed

  template <class F>
  void give(std::uint64_t index, std::uint64_t key, F& f) const {
    __extension__ using wide = unsigned __int128;
    const wide scaled = static_cast<wide>(key) * static_cast<std::uint64_t>(pes_);
    const auto within = static_cast<std::uint64_t>(scaled);  // grows with the key, among those for one PE
    f(static_cast<int>(scaled >> 64), within >> 32 << 32 | index);
  }

  [[nodiscard]] bool before(drawn a, drawn b) const noexcept {
    if (a >> 32 != b >> 32) return a < b;
    const auto i = a & 0xffff'ffffU, j = b & 0xffff'ffffU;
    return std::pair(keys_.at(i), i) < std::pair(keys_.at(j), j);
  }

  static void by_digit(const std::vector<drawn>& from, std::vector<drawn>& to, int shift, int bits) {
    std::vector<std::uint32_t> begin((std::size_t{1} << bits) + 1);
    const std::uint64_t mask = (std::uint64_t{1} << bits) - 1;
    for (const drawn d : from) ++begin[(d >> shift & mask) + 1];
    for (std::size_t i = 1; i < begin.size(); ++i) begin[i] += begin[i - 1];
    for (const drawn d : from) to[begin[d >> shift & mask]++] = d;
  }

  counter_random keys_;
  std::uint64_t total_;
  int pe_;
  int pes_;
};

/// Deals out indices that have the positions first, first + 1, ... of the permutation.
/// Calls f(to, indices) with at most `most` for neighbouring spots of one PE, the first of which is `to`.
template <class F>
void deal_out(std::span<const drawn> sorted, std::uint64_t first, int pes, std::size_t most, F f) {
  const auto step = static_cast<std::size_t>(pes);
  std::vector<std::uint32_t> indices;
  for (std::size_t hand = 0; hand < std::min(step, sorted.size()); ++hand) {
    for (std::size_t i = hand; i < sorted.size(); i += step * indices.size()) {
      indices.clear();
      for (std::size_t k = i; k < sorted.size() && indices.size() < most; k += step) {
        indices.push_back(static_cast<std::uint32_t>(sorted[k]));
      }
      f(place::of(first + i, pes), std::span<const std::uint32_t>(indices));
    }
  }
}

}  // namespace shunt::apps
