/// `shunt run topological_sort`: orders the rows and columns of a matrix so that it is upper triangular.
#include <fmt/core.h>

#include <shunt/base/error.hpp>
#include <utility>

#include "app.hpp"
#include "bale/job.hpp"
#include "bale/matrix_job.hpp"
#include "bale/permute_matrix_lambda.hpp"
#include "bale/topological_sort_class.hpp"
#include "bale/topological_sort_lambda.hpp"
#include "bale/topological_sort_natural.hpp"
#include "bale/transpose_lambda.hpp"
#include "bale/upper_triangle.hpp"
#include "option.hpp"

using namespace shunt;

namespace {

/// Collective. No entry of this PE's rows is below the diagonal, and each row has one on it.
bool is_upper_triangular(pgas::pe& me, const apps::matrix& a, const apps::permutation& rows,
                         pgas::symmetric<apps::permutation>& columns) {
  const auto under = apps::columns_under(me, a, columns);
  std::uint64_t wrong = 0;
  for (std::uint32_t l = 0; l < a.count(); ++l) {
    const auto row = a.in_row(l, under);
    wrong += std::count(row.begin(), row.end(), rows[l]) != 1;
    wrong += std::any_of(row.begin(), row.end(), [&](std::uint32_t column) { return column < rows[l]; });
  }
  return me.sum(wrong) == 0 && apps::is_permutation(me, rows, a.height) && apps::is_permutation(me, *columns, a.width);
}

/// Rows taken one after another, each when one column is left of it. \return rows that this places
std::uint64_t serial_sort(const graph::matrix_entries& whole) {
  std::vector<std::vector<std::uint32_t>> columns_of(whole.rows), rows_of(whole.columns);
  for (const auto& e : whole.entries) {
    columns_of[e.a].push_back(e.b);
    rows_of[e.b].push_back(e.a);
  }
  std::vector<std::size_t> left;
  std::vector<std::uint32_t> ready;
  for (const auto& columns : columns_of) {
    left.push_back(columns.size());
    if (columns.size() == 1) ready.push_back(static_cast<std::uint32_t>(left.size() - 1));
  }
  std::vector<bool> gone(whole.columns);
  std::uint64_t placed = 0;
  while (!ready.empty()) {
    const auto row = ready.back();
    ready.pop_back();
    const auto& columns = columns_of[row];
    const auto last = std::find_if(columns.begin(), columns.end(), [&](std::uint32_t c) { return !gone[c]; });
    if (last == columns.end()) continue;
    ++placed;
    gone[*last] = true;
    for (const auto r : rows_of[*last]) {
      if (--left[r] == 1) ready.push_back(r);
    }
  }
  return placed;
}

}  // namespace

int topological_sort_main(int argc, char** argv) {
  apps::command_line options("Orders the rows and columns of a sparse matrix so that it is upper triangular.",
                             "shunt run topological_sort");
  apps::job job(options, "topological_sort", false, apps::forms::three);
  apps::matrix_input input(options, job, {.triangle = true});
  bool check = false;
  std::string output;
  apps::text_option(options, "--output", output, "write the triangular matrix into this Matrix Market file");
  options.add_flag("--check", check, "sort once more, serially");
  if (!apps::parse(options, argc, argv)) return 0;

  const auto wanted = job.wanted();
  apps::expect_writable(output);
  input.load();
  input.expect_square();
  bool right = true;
  pgas::run(wanted, [&](pgas::pe& me) {
    input.require(me, 64);
    const apps::matrix a = input.from_file()
                               ? input.deal(me)
                               : apps::hidden_triangle(me, input.height(me.count()), input.nonzeros(), job.seed());
    pgas::symmetric<apps::matrix> turned(me, apps::lambda_form::transpose(me, a));
    const apps::measurement timing(me);
    apps::order found = [&] {
      apps::progress line("placing rows", a.height, me.index() == 0);
      const auto each_level = [&line](std::uint64_t placed) { line(placed); };
      if (job.which() == apps::form::natural) return apps::natural::topological_sort(me, a, *turned, each_level);
      if (job.which() == apps::form::lambda) return apps::lambda_form::topological_sort(me, a, turned, each_level);
      return apps::class_form::topological_sort{{me}, *turned, apps::rows_left(a), apps::order(a)}.run(me, a,
                                                                                                       each_level);
    }();
    const auto [seconds, moved] = timing.end();
    const auto nonzeros = me.sum(a.columns.size());
    graph::matrix_entries whole;
    if (check) whole = apps::collect(me, a);
    if (!found.exists) {
      const auto placed = me.sum(found.rows.size() - static_cast<std::size_t>(std::count(
                                                         found.rows.begin(), found.rows.end(), apps::order::none)));
      throw usage_error(error_number(1105), fmt::format("{}: no order of rows and columns makes this matrix upper "
                                                        "triangular with a full diagonal; {} of {} rows can "
                                                        "be placed",
                                                        apps::one_line(input.name()), placed, a.height));
    }
    pgas::symmetric<apps::permutation> columns(me, std::move(found.columns));
    const bool triangular = is_upper_triangular(me, a, found.rows, columns);
    const auto sorted = output.empty()
                            ? graph::matrix_entries()
                            : apps::collect(me, apps::lambda_form::permute_matrix(me, a, found.rows, columns));
    if (me.index() != 0) return;
    const bool same = !check || serial_sort(whole) == a.height;
    right = triangular && same;
    if (right && !output.empty()) apps::write_matrix(output, sorted);
    auto facts = apps::matrix_facts(me, job, "topological_sort", input.name(), a, nonzeros);
    facts.push_back({"levels", found.levels, apps::with_commas(found.levels)});
    facts.push_back({"sorted", triangular ? "upper triangular, full diagonal" : "not upper triangular",
                     triangular ? "upper triangular, full diagonal" : "NO: not upper triangular"});
    facts.push_back({"checked", check && right,
                     !check ? "no (--check sorts serially too)"
                     : same ? "a serial sort places all rows too"
                            : "NO: a serial sort cannot place all rows"});
    apps::report(job, std::move(facts), input, moved, seconds);
  });
  return right ? 0 : 1;
}
