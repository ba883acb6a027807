/// What the one-sided programs share: a matrix whose rows other PEs read and write, and a prefix sum.
#pragma once

#include <algorithm>
#include <bale/matrix.hpp>
#include <bale/permutation.hpp>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <vector>

namespace bench {

using shunt::apps::dealt;
using shunt::apps::matrix;
using shunt::apps::ordinal;
using shunt::apps::permutation;

/// As shunt::apps::matrix, in symmetric memory. It has room for a quarter more non-zeros than a PE has of another
/// matrix: rows that are dealt out at random have nearly as many on each PE.
template <class Net>
struct shared_matrix {
  shared_matrix(std::size_t rows, std::size_t nonzeros) : offsets(rows + 1), columns(nonzeros + nonzeros / 4 + 1024) {}

  /// offsets[l + 1] is the length of row l so far: makes them where rows begin.
  void make_offsets() {
    const auto o = offsets.mine();
    o[0] = 0;
    for (std::size_t l = 1; l < o.size(); ++l) o[l] += o[l - 1];
    if (static_cast<std::size_t>(o.back()) > columns.mine().size()) {
      throw std::length_error("one PE has a quarter more non-zeros than another");
    }
  }
  /// \return this PE's part as a matrix of its own
  [[nodiscard]] matrix copy(const dealt& home, ordinal height) {
    matrix m(home, height, height);
    std::copy_n(offsets.mine().begin(), m.offsets.size(), m.offsets.begin());
    m.columns.assign(columns.mine().begin(), columns.mine().begin() + static_cast<std::ptrdiff_t>(m.offsets.back()));
    return m;
  }

  typename Net::template array<std::int64_t> offsets;
  typename Net::template array<std::uint32_t> columns;
};

/// Calls f(first, last) for the parts of 0..count-1 that are as long as a batch.
template <class Net, class F>
void each_batch(std::size_t count, F f) {
  for (std::size_t first = 0; first < count; first += Net::batch) f(first, std::min(count, first + Net::batch));
}

/// A number of each PE, on each PE: `everywhere` has a spot for each PE.
struct all_counts {
  std::uint64_t before = 0;  ///< sum over the PEs before this one
  std::uint64_t sum = 0;
};
/// Collective. Between two calls there must be another Net::settle().
template <class Net>
all_counts exchange(typename Net::template array<std::int64_t>& everywhere, std::uint64_t mine) {
  const auto me = static_cast<std::size_t>(Net::me());
  for (int pe = 0; pe < Net::pes(); ++pe) everywhere.put_value(static_cast<std::int64_t>(mine), pe, me);
  Net::settle(everywhere);
  all_counts all;
  for (std::size_t pe = 0; pe < everywhere.mine().size(); ++pe) {
    const auto count = static_cast<std::uint64_t>(everywhere.mine()[pe]);
    if (pe < me) all.before += count;
    all.sum += count;
  }
  return all;
}

}  // namespace bench
