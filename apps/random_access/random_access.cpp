/// `shunt run random_access`: HPC Challenge's RandomAccess, in either form, with its verification.
#include <fmt/core.h>

#include <cmath>

#include "app.hpp"
#include "bale/job.hpp"
#include "option.hpp"
#include "random_access/random_access_class.hpp"
#include "random_access/random_access_lambda.hpp"

using namespace shunt;

namespace {

constexpr std::uint64_t updates_a_word = 4;  // by the rules

std::string look_ahead_text(std::uint64_t look_ahead) {
  constexpr auto rules = apps::access_plan::look_ahead_by_the_rules;
  if (look_ahead == 0) return fmt::format("any number of updates: not by the rules, which allow {}", rules);
  return fmt::format("at most {} updates of a process{}", look_ahead,
                     look_ahead > rules ? fmt::format(": not by the rules, which allow {}", rules) : ", by the rules");
}

}  // namespace

int random_access_main(int argc, char** argv) {
  apps::command_line options("Updates random words of a distributed table, by the rules of HPC Challenge.",
                             "shunt run random_access");
  apps::job job(options, "random_access");
  unsigned scale = 22;
  std::uint64_t look_ahead = apps::access_plan::look_ahead_by_the_rules;
  apps::count_option(options, "--scale", scale,
                     "the table has 2^scale words; by the rules, half of the memory: 4 updates a word", 0, 32)
      ->capture_default_str();
  apps::count_option(options, "--look-ahead", look_ahead,
                     fmt::format("updates that a process may hold back: by the rules {}; 0: any number",
                                 apps::access_plan::look_ahead_by_the_rules),
                     0, 1ul << 32)
      ->capture_default_str();
  options.final_callback([&] { apps::refuse_with("the stream of the benchmark", {job.seed_option()}); });
  if (!apps::parse(options, argc, argv)) return 0;

  bool right = true;
  pgas::run(job.wanted(), [&](pgas::pe& me) {
    const std::uint64_t words = std::uint64_t{1} << scale, updates = updates_a_word * words;
    apps::require_memory(me, fmt::format("--scale {} on {} PEs", scale, me.count()),
                         8. * static_cast<double>(words) / me.count());
    pgas::symmetric<apps::access_table> table(me, me, scale);
    const auto plan = apps::access_plan::of(me, updates, look_ahead);
    const apps::measurement timing(me);
    {
      apps::progress line("updating", plan.count, me.index() == 0);
      const auto each_step = [&line](std::uint64_t done) { line(done); };
      if (job.which() == apps::form::lambda) {
        apps::lambda_form::random_access(table, plan, each_step);
      } else {
        apps::class_form::random_access{{me}, *table}.run(plan, each_step);
      }
    }
    const auto [seconds, moved] = timing.end();
    const auto errors = me.sum(table->errors_after(updates, me.index()));
    if (me.index() != 0) return;
    right = errors == 0;
    const double gups = static_cast<double>(updates) / seconds / 1e9;
    std::vector<apps::fact> facts{
        {"application", "random_access", "random_access, " + job.form_name() + " form"},
        {"pes", me.count(),
         fmt::format("{} on {} {}", me.count(), me.ranks(), me.ranks() == 1 ? "process" : "processes")},
        {"words", words, fmt::format("2^{}, {:.4g} MiB", scale, std::ldexp(8., static_cast<int>(scale) - 20))},
        {"updates", updates, apps::with_commas(updates)},
        {"look_ahead", look_ahead, look_ahead_text(look_ahead)},
        {"supersteps", plan.steps, apps::with_commas(plan.steps)},
        {"errors", errors,
         right ? "none: all updates were taken out again" : fmt::format("{} WRONG words", apps::with_commas(errors))},
        {"checked", right, right ? "yes" : "NO: updates were lost or doubled"},
        {"gups", gups, fmt::format("{:.4f} (10^9 updates a second)", gups)},
    };
    for (auto& f : apps::traffic_facts(moved, seconds)) facts.push_back(f);
    job.report(facts);
  });
  return right ? 0 : 1;
}
