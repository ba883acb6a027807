/// What the applications of matrices share: where a matrix comes from, what is checked of it, and where it goes.
#pragma once

#include <cstdint>
#include <shunt/graph/generate.hpp>
#include <shunt/graph/read.hpp>
#include <string>
#include <vector>

#include "bale/job.hpp"
#include "bale/matrix.hpp"
#include "bale/permutation.hpp"

namespace shunt::apps {

/// The options that name a matrix, and the matrix: one from a file, or a generated one, which is the same for any
/// number of PEs.
class matrix_input {
 public:
  /// What the application wants.
  struct needs {
    bool triangle = false;       ///< of a generated matrix: an upper triangle with a full diagonal, hidden
    bool seed_for_file = false;  ///< --seed means something for a matrix from a file too
  };
  matrix_input(command_line& options, job& job, const needs& wanted);
  matrix_input(const matrix_input&) = delete;
  matrix_input& operator=(const matrix_input&) = delete;

  /// Reads the file, if there is one. Before the PEs start: what is wrong with it is said once.
  /// \throws usage_error
  void load();
  [[nodiscard]] bool from_file() const noexcept { return !file_.empty(); }
  [[nodiscard]] std::string name() const;
  [[nodiscard]] double seconds_to_load() const noexcept { return seconds_to_load_; }

  /// Of the file. \throws usage_error unless it is square
  void expect_square() const;
  /// Rows, and columns of a generated matrix.
  [[nodiscard]] std::uint32_t height(int pes) const noexcept;
  [[nodiscard]] double nonzeros() const noexcept { return nonzeros_; }

  /// Collective. This PE's rows of the file, or of a random matrix.
  [[nodiscard]] matrix deal(pgas::pe& me) const;
  /// Collective. Before a matrix is generated: can it be, and is there memory for it?
  /// \param bytes_an_entry  of all that the PE makes
  void require(pgas::pe& me, double bytes_an_entry) const;

 private:
  /// \throws usage_error for more non-zeros a row than there can be
  void check_nonzeros(std::uint64_t rows) const;

  job& job_;
  needs wanted_;
  std::string file_;
  bool rows_ok_ = false;
  std::uint64_t rows_ = 0;  // 0: so many a PE
  double nonzeros_ = 10;
  double seconds_to_load_ = 0;
  std::uint32_t width_ = 0;
  graph::row_block whole_;  // of the file: columns ascend, and each is there once
};

/// Of the study, on each PE.
inline constexpr std::uint64_t rows_a_pe = 100'000;

// --- what is right ---

/// Collective. A sum over all non-zeros, in any order, of numbers that depend on all bits of row and column.
/// \param f  of a non-zero's place, counted over this PE's: the row and column that count
template <class F>
[[nodiscard]] std::uint64_t fingerprint_of(pgas::pe& me, const matrix& a, F f) {
  std::uint64_t sum = 0;
  for (std::uint32_t l = 0; l < a.count(); ++l) {
    for (std::uint64_t i = a.offsets[l]; i < a.offsets[l + 1]; ++i) {
      const entry e = f(l, i);
      const std::uint64_t both[] = {e.row, e.column};
      sum += fingerprint(1, std::span<const std::uint64_t>(both));
    }
  }
  return me.sum(sum);
}

/// Collective. What a permutation says of the column of each of this PE's non-zeros.
[[nodiscard]] permutation columns_under(pgas::pe& me, const matrix& a, pgas::symmetric<permutation>& c);

/// Collective. Whether the PEs' parts hold each of 0..total-1 once.
[[nodiscard]] bool is_permutation(pgas::pe& me, const permutation& mine, std::uint64_t total);

// --- all of it on PE 0, for a serial oracle or a file ---

/// Collective. \return on PE 0 the whole matrix, its entries ascending; elsewhere nothing
[[nodiscard]] graph::matrix_entries collect(pgas::pe& me, const matrix& a);
/// Collective. \return on PE 0 the whole permutation, elsewhere nothing
[[nodiscard]] permutation collect(pgas::pe& me, const permutation& mine, std::uint64_t total);

/// Ascending by row, then by column.
void sort_entries(std::vector<graph::edge>& entries);

/// As a Matrix Market file. \throws error for a file that does not take it
void write_matrix(const std::string& path, const graph::matrix_entries& whole);
/// One number a line, from 0.
void write_permutation(const std::string& path, const permutation& whole);

/// What every report of these applications begins with.
[[nodiscard]] std::vector<fact> matrix_facts(pgas::pe& me, const job& job, const std::string& application,
                                             const std::string& name, const matrix& a, std::uint64_t nonzeros);
/// Whether all of them are where they belong.
[[nodiscard]] fact nonzeros_moved(bool each_once);
/// Reports these, what every report of these applications ends with, and what the kernel moved.
void report(const job& job, std::vector<fact> facts, const matrix_input& input, const pgas::traffic& moved,
            double seconds);

}  // namespace shunt::apps
