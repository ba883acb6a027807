/// Question: what do programs cost that move, ask and count at once? The kernels are the applications'.
///
///   --variant natural   loops over distributed arrays
#include <algorithm>
#include <bale/permute_matrix_class.hpp>
#include <bale/permute_matrix_lambda.hpp>
#include <bale/permute_matrix_natural.hpp>
#include <bale/random_permutation_class.hpp>
#include <bale/random_permutation_lambda.hpp>
#include <bale/random_permutation_natural.hpp>
#include <bale/topological_sort_class.hpp>
#include <bale/topological_sort_lambda.hpp>
#include <bale/topological_sort_natural.hpp>
#include <bale/transpose_class.hpp>
#include <bale/transpose_lambda.hpp>
#include <bale/transpose_natural.hpp>
#include <bale/upper_triangle.hpp>

#include "../common/shunt.hpp"
#include "darts.hpp"
#include "problems.hpp"

namespace {

using namespace shunt;
using apps::form;
using apps::matrix;
using apps::ordinal;
using apps::permutation;

using bench::seed;

matrix random_matrix(pgas::pe& me, ordinal rows, double nonzeros) {
  matrix a(me, rows, rows);
  bench::fill_random(a, nonzeros);
  return a;
}

// Apart from the other forms: what stands beside a kernel's loop changes how it is compiled.
[[gnu::noinline]] permutation random_permutation_by_nature(pgas::pe& me, ordinal rows) {
  return apps::natural::random_permutation(me, rows, seed);
}
[[gnu::noinline]] matrix transpose_by_nature(pgas::pe& me, const matrix& a) { return apps::natural::transpose(me, a); }
[[gnu::noinline]] matrix permute_matrix_by_nature(pgas::pe& me, const matrix& a, const permutation& r,
                                                  pgas::array<ordinal>& c) {
  return apps::natural::permute_matrix(me, a, r, c);
}
[[gnu::noinline]] apps::order topological_sort_by_nature(pgas::pe& me, const matrix& a, const matrix& turned) {
  return apps::natural::topological_sort(me, a, turned, [](std::uint64_t) {});
}

/// Of all PEs.
std::string sum_of(pgas::pe& me, const matrix& a) { return bench::report_sum(me.sum(bench::sum_of(a))); }
std::string sum_of(pgas::pe& me, const permutation& p) {
  return bench::report_sum(me.sum(bench::sum_of(apps::dealt(me.index(), me.count()), p)));
}

}  // namespace

int main(int argc, char** argv) {
  const auto options = bench_parse(argc, argv);
  const form how = bench::form_of(argv[0], options);
  const bool natural = how == form::natural, lambda = how == form::lambda;
  const std::string what = options.what;
  return bench::job(argv[0], options, [&](pgas::pe& me) {
    const auto rows = static_cast<ordinal>(options.rows * me.count());
    const auto nonzeros = static_cast<double>(options.row_nonzeros);
    if (what == "random_permutation") {
      permutation p;
      bench::rounds(
          me, options, [] {},
          [&] {
            p = natural  ? random_permutation_by_nature(me, rows)
                : lambda ? apps::lambda_form::random_permutation(me, rows, seed)
                         : apps::class_form::random_permutation{{me}}.run(me, rows, seed);
          },
          [&] { return sum_of(me, p); });
    } else if (what == "darts") {
      permutation p;
      const counter_random random(seed);
      bench::rounds(
          me, options, [] {}, [&] { p = bench::darts(me, rows, random); },
          [&] { return bench::report_sum(me.sum(bench::sum_of_values(p))); });
    } else if (what == "transpose") {
      const matrix a = random_matrix(me, rows, nonzeros);
      matrix t(me, 0, 0);
      bench::rounds(
          me, options, [] {},
          [&] {
            t = natural  ? transpose_by_nature(me, a)
                : lambda ? apps::lambda_form::transpose(me, a)
                         : apps::class_form::transpose{{me}, matrix(me, rows, rows)}.run(a);
          },
          [&] { return sum_of(me, t); });
    } else if (what == "permute_matrix") {
      const matrix a = random_matrix(me, rows, nonzeros);
      const auto r = apps::lambda_form::random_permutation(me, rows, seed);
      pgas::symmetric<permutation> c(me, apps::lambda_form::random_permutation(me, rows, seed + 1));
      pgas::array<ordinal> dealt(me, natural ? rows : 0);  // its elements lie as those of `c`
      if (natural) std::ranges::copy(*c, dealt.local().begin());
      matrix b(me, 0, 0);
      bench::rounds(
          me, options, [] {},
          [&] {
            b = natural  ? permute_matrix_by_nature(me, a, r, dealt)
                : lambda ? apps::lambda_form::permute_matrix(me, a, r, c)
                         : apps::class_form::permute_matrix{{me}, *c, matrix(me, rows, rows)}.run(me, a, r);
          },
          [&] { return sum_of(me, b); });
    } else if (what == "topological_sort") {
      const matrix a = apps::hidden_triangle(me, rows, nonzeros, seed);
      pgas::symmetric<matrix> turned(me, apps::lambda_form::transpose(me, a));
      apps::order found(a);
      const auto each_level = [](std::uint64_t) {};
      bench::rounds(
          me, options, [] {},
          [&] {
            found = natural ? topological_sort_by_nature(me, a, *turned)
                    : lambda
                        ? apps::lambda_form::topological_sort(me, a, turned, each_level)
                        : apps::class_form::topological_sort{{me}, *turned, apps::rows_left(a), apps::order(a)}.run(
                              me, a, each_level);
          },
          [&] {
            bench::must_be(argv[0], "rows that have no place", found.exists ? 0 : 1, 0);
            return bench::report_levels(found.levels);
          });
    } else {
      throw usage_error("--what " + what);
    }
  });
}
