/// `shunt run permute_matrix`: permutes the rows and columns of a matrix from a file, or of a generated one.
///
/// Row i goes to row r[i], column j to column c[j]. r is what `shunt run random_permutation` draws with the same
/// --seed, c what it draws with the next one.
#include <algorithm>
#include <utility>

#include "app.hpp"
#include "bale/job.hpp"
#include "bale/matrix_job.hpp"
#include "bale/permute_matrix_class.hpp"
#include "bale/permute_matrix_lambda.hpp"
#include "bale/permute_matrix_natural.hpp"
#include "bale/random_permutation_lambda.hpp"
#include "option.hpp"

using namespace shunt;

int permute_matrix_main(int argc, char** argv) {
  apps::command_line options("Permutes the rows and columns of a sparse matrix: a message a row, a request a non-zero.",
                             "shunt run permute_matrix");
  apps::job job(options, "permute_matrix", false, apps::forms::three);
  apps::matrix_input input(options, job, {.seed_for_file = true});
  bool check = false;
  std::string output;
  apps::text_option(options, "--output", output, "write the permuted matrix into this Matrix Market file");
  options.add_flag("--check", check, "permute once more, serially, and compare");
  if (!apps::parse(options, argc, argv)) return 0;

  const auto wanted = job.wanted();
  apps::expect_writable(output);
  input.load();
  bool right = true;
  pgas::run(wanted, [&](pgas::pe& me) {
    input.require(me, 32);
    const apps::matrix a = input.deal(me);
    const apps::permutation r = apps::lambda_form::random_permutation(me, a.height, job.seed());
    pgas::symmetric<apps::permutation> c(me, apps::lambda_form::random_permutation(me, a.width, job.seed() + 1));
    const bool natural = job.which() == apps::form::natural;
    pgas::array<std::uint32_t> dealt(me, natural ? a.width : 0);  // its elements lie as those of `c`
    if (natural) std::ranges::copy(*c, dealt.local().begin());
    const apps::measurement timing(me);
    const apps::matrix b =
        natural ? apps::natural::permute_matrix(me, a, r, dealt)
        : job.which() == apps::form::lambda
            ? apps::lambda_form::permute_matrix(me, a, r, c)
            : apps::class_form::permute_matrix{{me}, *c, apps::matrix(me, a.height, a.width)}.run(me, a, r);
    const auto [seconds, moved] = timing.end();
    const auto nonzeros = me.sum(a.columns.size());
    const auto names = apps::columns_under(me, a, c);
    const bool each_once =
        me.sum(b.columns.size()) == nonzeros &&
        apps::fingerprint_of(me, a, [&](std::uint32_t l, std::uint64_t i) { return apps::entry{r[l], names[i]}; }) ==
            apps::fingerprint_of(
                me, b, [&](std::uint32_t l, std::uint64_t i) { return apps::entry{b.home.global(l), b.columns[i]}; });
    graph::matrix_entries serial, found;
    apps::permutation all_r, all_c;
    if (check) {
      serial = apps::collect(me, a);
      all_r = apps::collect(me, r, a.height);
      all_c = apps::collect(me, *c, a.width);
    }
    if (check || !output.empty()) found = apps::collect(me, b);
    if (me.index() != 0) return;
    if (check) {
      for (auto& e : serial.entries) e = {all_r[e.a], all_c[e.b]};
      apps::sort_entries(serial.entries);
    }
    const bool same = !check || serial == found;
    right = each_once && same;
    if (right && !output.empty()) apps::write_matrix(output, found);
    auto facts = apps::matrix_facts(me, job, "permute_matrix", input.name(), a, nonzeros);
    facts.push_back(apps::nonzeros_moved(each_once));
    facts.push_back({"checked", check && right,
                     !check ? "no (--check compares with a serial permutation)"
                     : same ? "a serial permutation is the same"
                            : "NO: a serial permutation differs"});
    apps::report(job, std::move(facts), input, moved, seconds);
  });
  return right ? 0 : 1;
}
