/// The inputs of the programs of the table, and what they are compared by.
#pragma once

#include <bale/matrix.hpp>
#include <bale/permutation.hpp>
#include <bale/place.hpp>
#include <cstdint>
#include <shunt/graph/generate.hpp>
#include <span>
#include <string>

namespace bench {

/// A number that depends on all bits of two: sums of such numbers tell sets of pairs apart.
inline std::uint64_t mixed(std::uint32_t a, std::uint32_t b) noexcept {
  std::uint64_t x = std::uint64_t{a} << 32 | b;
  x = (x ^ x >> 33) * 0xff51afd7ed558ccdU;
  x = (x ^ x >> 33) * 0xc4ceb9fe1a85ec53U;
  return x ^ x >> 33;
}

inline constexpr std::uint64_t seed = 1;

/// Into `a`, which is empty: this PE's rows of a random matrix.
inline void fill_random(shunt::apps::matrix& a, double nonzeros) {
  const shunt::graph::random_matrix whole(a.height, a.width, nonzeros, seed);
  for (shunt::apps::ordinal l = 0; l < a.count(); ++l) {
    whole.append_row(a.home.global(l), a.columns);
    a.offsets[l + 1] = a.columns.size();
  }
}

/// Of this PE's non-zeros, whatever their order.
inline std::uint64_t sum_of(const shunt::apps::matrix& a) {
  std::uint64_t sum = 0;
  for (shunt::apps::ordinal l = 0; l < a.count(); ++l) {
    for (const auto column : a.row(l)) sum += mixed(a.home.global(l), column);
  }
  return sum;
}
/// Of this PE's part of a permutation.
inline std::uint64_t sum_of(const shunt::apps::dealt& home, const shunt::apps::permutation& p) {
  std::uint64_t sum = 0;
  for (shunt::apps::ordinal s = 0; s < p.size(); ++s) sum += mixed(home.global(s), p[s]);
  return sum;
}

/// Of this PE's values, wherever they stand: the same for all permutations.
inline std::uint64_t sum_of_values(std::span<const std::uint32_t> values) {
  std::uint64_t sum = 0;
  for (const auto value : values) sum += mixed(0, value);
  return sum;
}

/// What a program reports beside its time.
inline std::string report_sum(std::uint64_t sum) { return ", \"sum\": " + std::to_string(sum); }
inline std::string report_levels(std::uint64_t levels) { return ", \"levels\": " + std::to_string(levels); }

/// Which program was asked for.
struct wanted {
  explicit wanted(const std::string& what)
      : permutes(what == "random_permutation"),
        transposes(what == "transpose"),
        permutes_matrix(what == "permute_matrix"),
        sorts(what == "topological_sort"),
        darts(what == "darts") {}
  /// Not every system has the darts.
  [[nodiscard]] bool known() const noexcept { return permutes || transposes || permutes_matrix || sorts || darts; }

  bool permutes, transposes, permutes_matrix, sorts, darts;
};

}  // namespace bench
