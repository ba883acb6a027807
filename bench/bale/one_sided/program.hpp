/// The one-sided programs of table bale, for OpenSHMEM and for MPI: inputs, rounds, and the sums that are compared.
#pragma once

#include <bale/upper_triangle.hpp>
#include <cstring>
#include <shunt/base/random.hpp>

#include "../problems.hpp"
#include "darts.hpp"
#include "permute_matrix.hpp"
#include "random_permutation.hpp"
#include "topological_sort.hpp"
#include "transpose.hpp"

namespace bench {

/// Collective. All rounds of one input; PE 0 reports.
template <class Net>
class one_sided {
 public:
  one_sided(const bench_options& options, const wanted& asked)
      : options_(options),
        asked_(asked),
        home_(Net::me(), Net::pes()),
        height_(static_cast<ordinal>(options.rows * Net::pes())),
        rows_(static_cast<std::size_t>(options.rows)),
        in_(rows_),
        r_(rows_),
        c_(rows_) {}

  void run() {
    if (asked_.permutes) {
      rounds([&] { random_permutation<Net>(height_, seed, in_, r_); }, [&] { return sum_of(home_, part(r_)); });
    } else if (asked_.darts) {
      typename Net::template array<std::int64_t> board(2 * rows_);
      const shunt::counter_random random(seed);
      rounds([&] { darts<Net>(height_, random, board, in_, r_); }, [&] { return sum_of_values(r_.mine()); });
    } else {
      of_matrices();
    }
  }

 private:
  void of_matrices() {
    const auto nonzeros = static_cast<double>(options_.row_nonzeros);
    matrix a(home_, height_, height_);
    asked_.sorts ? shunt::apps::fill_upper_triangle(a, nonzeros, seed) : fill_random(a, nonzeros);
    const auto most = static_cast<std::size_t>(Net::max(static_cast<double>(a.columns.size())));
    shared_matrix<Net> result(rows_, most);
    random_permutation<Net>(height_, seed, in_, r_);
    random_permutation<Net>(height_, seed + 1, in_, c_);
    const permutation r = part(r_);
    permutation renamed;
    std::vector<std::int64_t> places_taken;
    if (asked_.transposes) {
      rounds([&] { transpose<Net>(a, places_taken, result); }, [&] { return sum_of(result.copy(home_, height_)); });
      return;
    }
    if (asked_.permutes_matrix) {
      rounds([&] { permute_matrix<Net>(a, r, c_, renamed, result); },
             [&] { return sum_of(result.copy(home_, height_)); });
      return;
    }
    permute_matrix<Net>(a, r, c_, renamed, result);
    const matrix hidden = result.copy(home_, height_);
    shared_matrix<Net> turned(rows_, most);
    transpose<Net>(hidden, places_taken, turned);
    sorting<Net> s(rows_);
    std::uint64_t levels = 0;
    rounds([&] { levels = topological_sort<Net>(hidden, turned, s); },
           [&] { return places(hidden, s) ? levels : throw std::logic_error("wrong answer: not upper triangular"); });
  }

  /// Collective. Whether the sorted matrix is upper triangular, and has a full diagonal.
  bool places(const matrix& hidden, sorting<Net>& s) {
    permutation renamed(hidden.columns.size());
    for (std::size_t i = 0; i < renamed.size(); ++i) {
      const auto [pe, spot] = home_.where(hidden.columns[i]);
      s.columns.get(&renamed[i], pe, spot);
    }
    s.columns.complete();
    std::uint64_t below = 0, on = 0;
    for (ordinal l = 0; l < hidden.count(); ++l) {
      for (const auto column : hidden.in_row(l, renamed)) {
        below += column < s.rows[l];
        on += column == s.rows[l];
      }
    }
    return Net::sum(below) == 0 && Net::sum(on) == height_;
  }

  template <class Superstep, class Answer>
  void rounds(Superstep superstep, Answer answer) {
    for (long round = 0; round < options_.warmup + options_.samples; ++round) {
      Net::settle(r_, c_);
      const double start = bench_now();
      superstep();
      const double seconds = Net::max(bench_now() - start);  // each superstep ends with settle()
      const std::uint64_t found = answer();
      const std::uint64_t sum = asked_.sorts ? found : Net::sum(found);
      if (Net::me() != 0 || round < options_.warmup) continue;
      bench_report(seconds, (asked_.sorts ? report_levels(sum) : report_sum(sum)).c_str());
    }
  }

  permutation part(typename Net::template array<std::uint32_t>& of) {
    return permutation(of.mine().begin(), of.mine().end());
  }

  const bench_options& options_;
  const wanted& asked_;
  const dealt home_;
  const ordinal height_;
  const std::size_t rows_;
  drawing<Net> in_;
  typename Net::template array<std::uint32_t> r_, c_;
};

}  // namespace bench
