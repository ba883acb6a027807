/// `shunt run transpose`: transposes a matrix from a file, or a generated one.
#include <utility>

#include "app.hpp"
#include "bale/job.hpp"
#include "bale/matrix_job.hpp"
#include "bale/transpose_class.hpp"
#include "bale/transpose_lambda.hpp"
#include "bale/transpose_natural.hpp"
#include "option.hpp"

using namespace shunt;

int transpose_main(int argc, char** argv) {
  apps::command_line options("Transposes a sparse matrix, one small message a non-zero.", "shunt run transpose");
  apps::job job(options, "transpose", false, apps::forms::three);
  apps::matrix_input input(options, job, {});
  bool check = false;
  std::string output;
  apps::text_option(options, "--output", output, "write the transpose into this Matrix Market file");
  options.add_flag("--check", check, "transpose once more, serially, and compare");
  if (!apps::parse(options, argc, argv)) return 0;

  const auto wanted = job.wanted();
  apps::expect_writable(output);
  input.load();
  bool right = true;
  pgas::run(wanted, [&](pgas::pe& me) {
    input.require(me, 32);
    const apps::matrix a = input.deal(me);
    const apps::measurement timing(me);
    const apps::matrix t = job.which() == apps::form::natural ? apps::natural::transpose(me, a)
                           : job.which() == apps::form::lambda
                               ? apps::lambda_form::transpose(me, a)
                               : apps::class_form::transpose{{me}, apps::matrix(me, a.width, a.height)}.run(a);
    const auto [seconds, moved] = timing.end();
    const auto nonzeros = me.sum(a.columns.size());
    const bool each_once = me.sum(t.columns.size()) == nonzeros &&
                           apps::fingerprint_of(me, a, [&](std::uint32_t l, std::uint64_t i) {
                             return apps::entry{a.columns[i], a.home.global(l)};
                           }) == apps::fingerprint_of(me, t, [&](std::uint32_t l, std::uint64_t i) {
                             return apps::entry{t.home.global(l), t.columns[i]};
                           });
    graph::matrix_entries serial, found;
    if (check) serial = apps::collect(me, a);
    if (check || !output.empty()) found = apps::collect(me, t);
    if (me.index() != 0) return;
    if (check) {
      std::swap(serial.rows, serial.columns);
      for (auto& e : serial.entries) e = {e.b, e.a};
      apps::sort_entries(serial.entries);
    }
    const bool same = !check || serial == found;
    right = each_once && same;
    if (right && !output.empty()) apps::write_matrix(output, found);
    auto facts = apps::matrix_facts(me, job, "transpose", input.name(), a, nonzeros);
    facts.push_back(apps::nonzeros_moved(each_once));
    facts.push_back({"checked", check && right,
                     !check ? "no (--check compares with a serial transpose)"
                     : same ? "a serial transpose is the same"
                            : "NO: a serial transpose differs"});
    apps::report(job, std::move(facts), input, moved, seconds);
  });
  return right ? 0 : 1;
}
