/// Matrices that have a topological sort, made from numbers: an upper triangle with a full diagonal, whose rows and
/// columns are then permuted.
#pragma once

#include <cstdint>
#include <shunt/graph/generate.hpp>

#include "bale/matrix.hpp"
#include "bale/permute_matrix_lambda.hpp"
#include "bale/random_permutation_lambda.hpp"

namespace shunt::apps {

/// Local. Into an empty matrix. The same matrix for any number of PEs.
/// \param mean  non-zeros a row, the diagonal's included: 1..(rows + 1) / 2
inline void fill_upper_triangle(matrix& a, double mean, std::uint64_t seed) {
  // Of a lower triangle, from its last row and column to its first.
  const std::uint32_t rows = a.height;
  const auto lower = graph::erdos_renyi::with_lower_row_mean(rows, mean - 1, seed);
  for (std::uint32_t l = 0; l < a.count(); ++l) {
    const std::uint32_t row = a.home.global(l);
    a.columns.push_back(row);
    const std::size_t first = a.columns.size();
    lower.append_row(rows - 1 - row, a.columns);
    for (std::size_t i = first; i < a.columns.size(); ++i) a.columns[i] = rows - 1 - a.columns[i];
    a.offsets[l + 1] = a.columns.size();
  }
}

/// Collective. Its rows and columns under permutations that are drawn with the seed and the next one.
[[nodiscard]] inline matrix hidden_triangle(pgas::pe& me, std::uint32_t rows, double mean, std::uint64_t seed) {
  const permutation r = lambda_form::random_permutation(me, rows, seed);
  pgas::symmetric<permutation> c(me, lambda_form::random_permutation(me, rows, seed + 1));
  matrix triangle(me, rows, rows);
  fill_upper_triangle(triangle, mean, seed);
  return lambda_form::permute_matrix(me, triangle, r, c);
}

}  // namespace shunt::apps
